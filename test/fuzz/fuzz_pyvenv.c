/* pyvenv.cfg of a virtual environment that came with somebody's files. SPDX-License-Identifier:
 * Apache-2.0 */
#include "fuzz.h"

#include "runtime/runtime.h"
#include "runtime/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char python[256], drivers[256], venv[256];
	struct runtime_start start = {0};
	struct err err = {0};
	snprintf(venv, sizeof venv, "%s/venv", fuzz_dir());
	snprintf(drivers, sizeof drivers, "%s/drivers", fuzz_dir());
	snprintf(python, sizeof python, "%s/bin/python3", venv);
	fuzz_mkdir("venv");
	fuzz_mkdir("venv/bin");
	fuzz_mkdir("drivers");
	fuzz_mkdir("drivers/python");
	fuzz_put("venv/bin/python3", NULL, 0);
	fuzz_put("venv/pyvenv.cfg", data, bytes);
	const struct runtime_request req = {
		.interpreter = python, .drivers_dir = drivers, .session = "s", .cpu_milli = 1000};
	int r = runtime_python.start(&req, &start, &err);
	MUST(r == 0 || err.code == ERR_NOT_FOUND || err.code == ERR_LIMIT);
	for (size_t i = 0; i < start.n_binds; i++) {
		const struct warden_bind *bind = &start.binds[i];
		MUST(memchr(bind->src, '\0', sizeof bind->src) && bind->src[0] == '/');
		MUST(memchr(bind->dst, '\0', sizeof bind->dst) && bind->dst[0] == '/');
		MUST(bind->kind == BIND_INSTALLATION || bind->kind == BIND_DRIVER);
	}
	MUST(r < 0 || strcmp(start.binds[0].src, venv) == 0);
	runtime_start_done(&start);
	return 0;
}
