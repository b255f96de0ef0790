/* approve, ask and try_call. SPDX-License-Identifier: Apache-2.0 */
#include "plan/checker.h"

#include "plan/str.h"

#include <string.h>

/* A person sees the value and says yes: to a copy, that nobody changes afterwards. */
struct av model_approve(struct checker *c, const struct call_args *args)
{
	struct av from = args_nth(args, 0);
	struct mark m = whole(c, from);
	const char word[] = "approved";
	uint32_t atom = label_atom(c->labels, word, sizeof word - 1);
	if (args->n == 0 || args->has_star || args->has_starstar || m.label == LABEL_FAILED)
		return refuse(c, P_CALL, args->node, "approve(value, \"reason\")",
			"approve needs the value first");
	if (!is_data(c, from))
		return refuse(c, P_UNKNOWN, args->node, "approve its fields one by one",
			"approve takes texts, numbers, lists and dicts of them");
	struct label l = label_get(c->labels, m.label);
	if (m.label != LABEL_BOTTOM)
		l.endorsements = label_union(c->labels, l.endorsements, label_set(c->labels, atom));
	m.label = label_intern(c->labels, &l);
	const struct event through = {EVENT_THROUGH, m.event, 0, m.label, args->node, NULL};
	m.event = event_new(c, &through);
	if (from.refs)
		return any_value(c, args->node, 0, m);
	from.m = m;
	return from;
}

/* The kind of what the quarantined model may answer, by the schema it is given. */
static enum label_kind schema_kind(struct checker *c, struct av schema, uint32_t *type)
{
	const struct obj *o = obj_nth(c, schema, 0);
	static const struct {
		const char *name;
		enum label_kind rank;
		uint32_t type;
	} rows[] = {{"bool", KIND_BOOL, T_BOOL}, {"int", KIND_NUMBER, T_INT},
		{"float", KIND_NUMBER, T_FLOAT}, {"str", KIND_TEXT, T_STRING}};
	*type = N_TYPES;
	for (size_t i = 0;
		o && !obj_nth(c, schema, 1) && o->kind == OBJ_NATIVE && i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].name, o->name) == 0) {
			*type = rows[i].type;
			return rows[i].rank;
		}
	return KIND_TEXT;
}

struct av model_ask(struct checker *c, const struct call_args *args)
{
	struct mark m = args_whole(c, args, true);
	struct av schema = args_nth(args, 2), by_name = args_named(args, "schema");
	uint32_t type, atom = label_atom(c->labels, "model", 5);
	struct label l = {.origins = label_set(c->labels, atom), .readers = LABEL_ALL};
	if (m.label == LABEL_FAILED || labels_has_failed(c->labels))
		return av_of(m, N_TYPES);
	struct label in = label_get(c->labels, m.label);
	l.origins = label_union(c->labels, l.origins, in.origins);
	l.readers = in.readers;
	l.kind.rank = schema_kind(c, by_name.type == T_UNSET ? schema : by_name, &type);
	uint32_t label = label_intern(c->labels, &l);
	const struct event through = {EVENT_THROUGH, m.event, 0, label, args->node, NULL};
	m = (struct mark){label, event_new(c, &through)};
	return type == N_TYPES ? any_value(c, args->node, 0, m) : av_of(m, type);
}

/* struct(ok, value, error): an error says something of what went in. */
struct av model_try(struct checker *c, const struct call_args *args)
{
	struct call_args rest = *args;
	const struct obj *fn = obj_nth(c, args_nth(args, 0), 0);
	if (args->n == 0 || args->has_star || args->has_starstar || !fn || fn->kind != OBJ_TOOL ||
		obj_nth(c, args_nth(args, 0), 1))
		return refuse(c, P_CALL, args->node, "try_call(tool, name = value)",
			"try_call needs the name of a tool first");
	char text[TOOL_NAME_MAX_BYTES + 8] = "error:";
	strncat(text, fn->tool->name, TOOL_NAME_MAX_BYTES);
	rest.positional++;
	rest.n--;
	struct av value = call_tool(c, fn->tool, &rest);
	uint32_t atom = label_atom(c->labels, text, strlen(text));
	struct label l = {.origins = label_set(c->labels, atom),
		.readers = LABEL_ALL,
		.kind = {.rank = KIND_TEXT}};
	const struct event source = {
		EVENT_SOURCE, 0, 0, label_intern(c->labels, &l), args->node, fn->tool};
	struct mark error = {source.label, event_new(c, &source)};
	error = mark_join(c, error, whole(c, value));
	error = mark_join(c, error, args_whole(c, &rest, true));
	struct obj *o = obj_new(c, OBJ_STRUCT, args->node, 0);
	struct av v = obj_value(c, o, (struct mark){0});
	static const char *const names[] = {"ok", "value", "error"};
	const struct av values[] = {av_of(mark_capped(c, error, KIND_BOOL), T_BOOL),
		av_with(c, value, mark_capped(c, error, KIND_BOOL)), av_of(error, N_TYPES)};
	for (size_t i = 0; o && i < ARRAY_LEN(names); i++) {
		struct val name;
		struct field *field =
			str_of(c->h, names[i], &name) == 0 ? field_at(c, o, name, true) : NULL;
		if (field)
			cell_add(c, field->cell, values[i]);
	}
	return v;
}
