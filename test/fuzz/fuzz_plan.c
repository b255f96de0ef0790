/* Plans: any source gets a result or an error within its limits; places are in the source.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "plan/program/program.h"

#include <stdlib.h>
#include <string.h>

static int print_out(void *ctx, const char *text, size_t bytes)
{
	(void)ctx;
	MUST(text != NULL || bytes == 0);
	return 0;
}

static void check(const struct source *src, struct dialect dialect)
{
	static struct program p;
	const struct heap_limits limits = {.fuel = 20000, .bytes = 8 << 20, .depth = 60};
	const struct vm_host host = {.print = print_out};
	const uint64_t seed[2] = {1, 2};
	struct val out;
	dialect.while_loops = dialect.recursion = true;
	int r = program_load(&p, src, &dialect, &limits, seed);
	MUST(r == 0 || p.diags.n > 0);
	if (r == 0) {
		enum vm_state state = program_run(&p, &host, &out);
		MUST(state != VM_CALLED);
		MUST((state == VM_FAILED) == (p.diags.n > 0));
	}
	for (size_t i = 0; i < p.diags.n; i++) {
		struct buf text = BUF_INIT(1 << 20);
		MUST(p.diags.item[i].start <= src->bytes && p.diags.item[i].msg[0]);
		MUST(diag_text(&text, src, &p.diags.item[i]) == 0);
		buf_done(&text);
	}
	MUST(p.heap.used_bytes <= limits.bytes);
	program_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct source src = {"fuzz", (const char *)data, bytes};
	if (bytes == 0)
		src.text = "";
	check(&src, DIALECT_PLAN);
	check(&src, DIALECT_STARLARK);
	return 0;
}
