/* What a hostile server declares, as plans know it. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "tool/declaration.h"
#include "tool/fit.h"
#include "tool/fixture.h"

#include <stdlib.h>
#include <string.h>

/* It must be a file of tools, and what fits it must be of the type that is read there. */
static void check(const struct catalog_tool *tool, const json_t *declared, const json_t *value)
{
	struct fixture *f = NULL;
	struct err err = {0};
	char name[TOOL_NAME_MAX_BYTES + 1];
	MUST(declaration_name(tool, name));
	json_t *file = json_pack("{s:{s:O}}", "tools", name, declared);
	char *text = json_dumps(file, JSON_COMPACT);
	MUST(text && fixture_read(text, strlen(text), "f", &f, &err) == 0);
	const struct tool *read = fixture_provider(f)->tools->tool;
	const json_t *schema = json_object_get(declared, "outputSchema");
	MUST(read->n_params <= TOOL_PARAMS_MAX && read->n_hosts <= TOOL_HOSTS_MAX);
	MUST((read->n_hosts > 0) == (json_object_get(declared, "_meta") != NULL));
	if (value && !json_is_number(value) && schema && fit_check(schema, value, &err) == 0)
		MUST(!read->result || read->result->shape == TOOL_LIST ||
			read->result->shape == TOOL_DICT ||
			schema_check(read->result, value, "", &err) == 0);
	fixture_free(f);
	free(text);
	json_decref(file);
}

/* A tool, a NUL, a value: arguments and result. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *part;
	json_error_t wrong;
	size_t n = fuzz_part(&data, &bytes, &part);
	json_t *json = json_loadb((const char *)part, n, 0, &wrong);
	json_t *value = json_loadb((const char *)data, bytes, JSON_DECODE_ANY, &wrong);
	const json_t *input = json_object_get(json, "inputSchema");
	const json_t *output = json_object_get(json, "outputSchema");
	const struct tool_server config = {.name = "s", .is_trusted = bytes % 2};
	const struct catalog_server server = {.config = &config, .id = "s"};
	const struct catalog_tool tool = {.id = "t",
		.schema = input,
		.output = json_is_object(output) ? output : NULL,
		.meta = json_object_get(json, "_meta"),
		.server = &server};
	int steps = DECLARATION_STEPS_MAX;
	json_t *declared = json_is_object(input) ? declaration_make(&tool, &steps) : NULL;
	if (declared)
		check(&tool, declared, value);
	if (declared && json_is_object(value)) {
		json_t *arguments = declaration_arguments(&tool, value);
		MUST(json_object_size(arguments) <= json_object_size(value));
		json_decref(arguments);
	}
	json_decref(declared);
	json_decref(json);
	json_decref(value);
	return 0;
}
