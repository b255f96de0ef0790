/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/declaration.h"

#include "base/json.h"
#include "tool/fit.h"
#include "tool/hosts.h"

#include <stdio.h>
#include <string.h>

/*
 * The state of reduce() for one schema.
 * root: the whole schema, to which each $ref refers.
 * is_trusted: whether the server of the schema is trusted.
 * steps: how many more schemas and references may be visited; counted down.
 */
struct reduction {
	const json_t *root;
	bool is_trusted;
	int *steps;
};

static const char *const types[] = {
	"null", "boolean", "integer", "number", "string", "array", "object"};

static json_t *reduce(const struct reduction *r, const json_t *schema, int depth);

/* Follow the $ref of @schema to a schema without $ref. Each reference that is followed counts as
 * one step. A cycle of references has no end: when no steps are left, a schema with a $ref is
 * returned. Returns: NULL if a $ref refers to nothing. */
static const json_t *resolved(const struct reduction *r, const json_t *schema)
{
	const char *ref;
	while (json_is_object(schema) &&
		(ref = json_string_value(json_object_get(schema, "$ref"))) && *r->steps > 0) {
		--*r->steps;
		schema = fit_resolve(r->root, ref);
	}
	return schema;
}

static const char *type_of(const json_t *schema)
{
	const char *type = json_string_value(json_object_get(schema, "type"));
	for (size_t i = 0; type && i < ARRAY_LEN(types); i++)
		if (strcmp(type, types[i]) == 0)
			return types[i];
	return NULL;
}

static void reduce_text(const struct reduction *r, const json_t *schema, json_t *out)
{
	static const char *const believed[] = {"format", "x-handle"};
	json_t *choices = json_object_get(schema, "enum"), *only = json_object_get(schema, "const");
	if (json_array_size(choices) > 0)
		json_put_shared(out, "enum", choices);
	else if (json_is_string(only))
		json_put_shared(out, "const", only);
	for (size_t i = 0; r->is_trusted && i < ARRAY_LEN(believed); i++) {
		json_t *word = json_object_get(schema, believed[i]);
		if (json_is_string(word))
			json_put_shared(out, believed[i], word);
	}
}

static void reduce_fields(const struct reduction *r, const json_t *schema, int depth, json_t *out)
{
	json_t *fields = json_need(json_object()), *required = json_object_get(schema, "required"),
	       *one;
	const char *name;
	json_object_foreach(json_object_get(schema, "properties"), name, one)
	{
		json_put_new(fields, name, reduce(r, one, depth + 1));
	}
	json_put_new(out, "properties", fields);
	if (json_is_array(required))
		json_put_shared(out, "required", required);
}

/* Copy the keywords of a schema that a check of values can verify. If the server is trusted,
 * also copy "format" and "x-handle" of a string. Returns: {}, which allows any value, if the
 * schema has no known type or exceeds a limit. */
static json_t *reduce(const struct reduction *r, const json_t *schema, int depth)
{
	json_t *out = json_need(json_object());
	if (depth > DECLARATION_DEPTH_MAX || --*r->steps < 0)
		return out;
	schema = resolved(r, schema);
	const char *type = type_of(schema);
	if (!type)
		return out;
	json_put_text(out, "type", type);
	if (strcmp(type, "string") == 0)
		reduce_text(r, schema, out);
	else if (strcmp(type, "object") == 0)
		reduce_fields(r, schema, depth, out);
	/* With prefixItems, "items" is not the type of the first elements. */
	else if (strcmp(type, "array") == 0 && json_is_object(json_object_get(schema, "items")) &&
		!json_object_get(schema, "prefixItems"))
		json_put_new(out, "items", reduce(r, json_object_get(schema, "items"), depth + 1));
	return out;
}

/* ---- the parameters of a tool ---- */

/* Make an identifier from @name that differs from all values in @ids. */
static void make_id(const json_t *ids, const char *name, char out[IDENTIFIER_BYTES])
{
	const char *key;
	json_t *one;
	int count = 1;
	bool is_taken = true;
	identifier_make(IDENTIFIER_PYTHON, name, out);
	size_t bytes = strlen(out);
	while (is_taken) {
		is_taken = false;
		json_object_foreach(json_unconst(ids), key, one)
		{
			is_taken |= strcmp(json_string_value(one), out) == 0;
		}
		if (is_taken)
			snprintf(out + bytes, IDENTIFIER_BYTES - bytes, "_%d", ++count);
	}
}

static const json_t *parameters(const struct catalog_tool *tool, int *steps)
{
	const struct reduction r = {.root = tool->schema, .steps = steps};
	return json_object_get(resolved(&r, tool->schema), "properties");
}

/* Return {name of the parameter at the server: its identifier}. */
static json_t *parameter_ids(const struct catalog_tool *tool, int *steps)
{
	json_t *ids = json_need(json_object()), *one;
	const char *name;
	json_object_foreach(json_unconst(parameters(tool, steps)), name, one)
	{
		char id[IDENTIFIER_BYTES];
		make_id(ids, name, id);
		json_put_text(ids, name, id);
	}
	return ids;
}

static json_t *input(const struct catalog_tool *tool, int *steps)
{
	const struct reduction r = {.root = tool->schema,
		.is_trusted = tool->server->config->is_trusted,
		.steps = steps};
	const json_t *schema = resolved(&r, tool->schema);
	json_t *ids = parameter_ids(tool, steps), *fields = json_need(json_object()), *one;
	json_t *required = json_need(json_array());
	const char *name;
	size_t i;
	json_object_foreach(json_object_get(schema, "properties"), name, one)
	{
		const char *id = json_string_value(json_object_get(ids, name));
		json_put_new(fields, id, reduce(&r, one, 1));
	}
	json_array_foreach(json_object_get(schema, "required"), i, one)
	{
		json_t *id =
			json_is_string(one) ? json_object_get(ids, json_string_value(one)) : NULL;
		if (id)
			json_add_shared(required, id);
	}
	json_decref(ids);
	return json_pack(
		"{s:s, s:o, s:o}", "type", "object", "properties", fields, "required", required);
}

/* ---- the declaration of a tool ---- */

json_t *declaration_make(const struct catalog_tool *tool, int *steps)
{
	const struct reduction r = {.root = tool->output,
		.is_trusted = tool->server->config->is_trusted,
		.steps = steps};
	if (json_object_size(parameters(tool, steps)) > TOOL_PARAMS_MAX)
		return NULL;
	return json_pack("{s:o, s:o*, s:o*, s:{s:b, s:b, s:b}}", "inputSchema", input(tool, steps),
		"outputSchema", tool->output ? reduce(&r, tool->output, 0) : NULL, "_meta",
		hosts_meta(tool->meta), "annotations", "readOnlyHint", tool->is_read_only,
		"destructiveHint", tool->is_destructive, "openWorldHint", tool->is_open_world);
}

json_t *declaration_arguments(const struct catalog_tool *tool, const json_t *arguments)
{
	int steps = DECLARATION_STEPS_MAX;
	json_t *ids = parameter_ids(tool, &steps), *out = json_need(json_object()), *value, *id;
	const char *given, *name;
	json_object_foreach(json_unconst(arguments), given, value)
	{
		const char *own = given;
		json_object_foreach(ids, name, id)
		{
			if (strcmp(json_string_value(id), given) == 0)
				own = name;
		}
		json_put_shared(out, own, value);
	}
	json_decref(ids);
	return out;
}

bool declaration_name(const struct catalog_tool *tool, char out[TOOL_NAME_MAX_BYTES + 1])
{
	int n = snprintf(out, TOOL_NAME_MAX_BYTES + 1, "%s.%s", tool->server->id, tool->id);
	return n > 0 && n <= TOOL_NAME_MAX_BYTES;
}
