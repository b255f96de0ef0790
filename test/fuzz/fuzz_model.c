/* Specifications of models and values of variables. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "agent/wire/model.h"

#include <stdlib.h>
#include <string.h>

static char *variable;

static char *env(const char *name)
{
	(void)name;
	return variable;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *part;
	size_t n = fuzz_part(&data, &bytes, &part);
	char *spec = fuzz_text(part, n);
	struct model m;
	struct key key;
	struct err err = {0};
	char shown[MODEL_NAME_BYTES + 64];
	variable = fuzz_text(data, bytes);
	int r = model_parse(&m, spec, env, &err);
	MUST(r == 0 || (err.code == ERR_USAGE && err.msg[0]));
	if (r == 0) {
		MUST(m.provider && strlen(m.base) > 0);
		model_show(&m, shown, sizeof shown);
		r = key_find(&key, &m, NULL, env, &err);
		MUST(r < 0 || strlen(key.text) <= SECRET_BYTES_MAX);
		for (const char *p = r < 0 ? "" : key.text; *p; p++)
			MUST(*p > 0x20 && *p < 0x7f);
		key_done(&key);
	}
	free(spec);
	free(variable);
	return 0;
}
