/* Notebook files, parameters, and outputs as a program in a box makes them. The input: a notebook,
 * NUL, a parameter, NUL, and an array of outputs. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/json.h"
#include "serve/jupyter/cell_store.h"
#include "serve/jupyter/notebook.h"
#include "serve/jupyter/notebook_param.h"

#include <stdlib.h>
#include <string.h>

/* What was read can be written, and be read again. */
static void check_again(const struct notebook *nb)
{
	struct notebook again = {0};
	struct err err = {0};
	char *text = notebook_text(nb);
	MUST(text != NULL);
	MUST(notebook_read(&again, text, strlen(text), &err) == 0);
	MUST(json_equal(nb->json, again.json));
	notebook_done(&again);
	free(text);
}

static void inject(struct notebook *nb, const char *text)
{
	cleanup_json json_t *params = json_need(json_object());
	cleanup_buf struct buf code = BUF_INIT(NOTEBOOK_CODE_BYTES);
	struct err err = {0};
	if (notebook_param_set(params, text, &err) < 0)
		return;
	MUST(json_object_size(params) == 1);
	MUST(notebook_param_code(params, "python", &code, &err) == 0);
	size_t n = json_array_size(nb->cells);
	notebook_inject(nb, buf_str(&code));
	MUST(json_array_size(nb->cells) <= n + 1);
}

static void fill(struct notebook *nb, const char *text, size_t bytes)
{
	struct cell_store s = CELL_STORE_INIT;
	json_t *outputs = json_loadb(text, bytes, JSON_ALLOW_NUL, NULL);
	for (size_t i = 0; i < json_array_size(nb->cells); i++) {
		if (!notebook_is_run(nb, i))
			continue;
		cell_store_begin(&s);
		cell_store_add(&s, json_incref(outputs));
		notebook_set(nb, i, 1, cell_store_end(&s));
	}
	json_decref(outputs);
	cell_store_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);
	struct notebook nb = {0};
	struct err err = {0};
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	size_t n = strlen(text), at = MIN(n + 1, bytes), m = strlen(text + at);
	if (notebook_read(&nb, text, n, &err) == 0) {
		(void)notebook_runtime(&nb, &err);
		check_again(&nb);
		notebook_clear(&nb);
		inject(&nb, text + at);
		at = MIN(at + m + 1, bytes);
		fill(&nb, text + at, bytes - at);
		check_again(&nb);
		notebook_done(&nb);
	} else {
		MUST(err.code != ERR_NONE && err.msg[0]);
	}
	free(text);
	return 0;
}
