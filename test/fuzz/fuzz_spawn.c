/* What init reads. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "sandbox/init/spawn.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* What spawn() relies on: as many strings as announced, all within the text. */
static void check_accepted(const struct init_request *req, size_t n_fds)
{
	if (req->op == INIT_SIGNAL)
		MUST(req->signal > 0 && req->signal <= SIGRTMAX);
	if (req->op != INIT_SPAWN)
		return;
	MUST(n_fds == WIRE_SPAWN_FDS);
	MUST(req->argc >= 1 && req->argc <= 1024 && req->envc <= 1024);
	size_t at = 0;
	for (uint32_t i = 0; i < req->argc + req->envc; i++) {
		MUST(at < req->text_bytes);
		at += strnlen(req->text + at, req->text_bytes - at) + 1;
	}
	MUST(at == req->text_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct init_request req;
	struct err err = {0};
	size_t n_fds = bytes > 0 ? data[0] % 8u : 0;
	if (bytes > 0)
		data++, bytes--;
	memset(&req, 0xaa, sizeof req);
	memset(&req, 0, offsetof(struct init_request, text));
	if (bytes > 0)
		memcpy(&req, data, bytes < sizeof req ? bytes : sizeof req);
	if (spawn_check(&req, n_fds, &err) == 0)
		check_accepted(&req, n_fds);
	else
		MUST(err.code == ERR_PROTOCOL || err.code == ERR_LIMIT);
	return 0;
}
