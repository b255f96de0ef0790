/* Operations on templates. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_order.h"
#include "api/call/inside.h"
#include "api/operation/calls.h"

static void start_create(struct operation_call *call)
{
	struct call_order order;
	struct err err;
	if (call_order_read(&order, call->params, &err) < 0)
		call_fail(call, &err);
	else
		registry_warm(call->context->registry, &order.create, call_done, call);
	call_order_done(&order);
}

static void start_list(struct operation_call *call)
{
	struct err err = {0};
	call_give(call, registry_templates(call->context->registry, &err), &err);
}

/* ---- rows of the table of operations ---- */

static const struct param create_rows[] = {ORDER_ROWS};
#define ABOUT_TEMPLATE                                                                             \
	GIVES("template", PARAM_TEXT, "id of the template"),                                       \
		GIVES("ready", PARAM_FLAG, "the template has imported all modules"),               \
		GIVES("standby", PARAM_COUNT, "number of sessions that are kept ready"),           \
		MAY_GIVE("preload", PARAM_TEXTS, "imported modules")
static const struct param about_rows[] = {ABOUT_TEMPLATE};
static const struct param list_rows[] = {
	{"templates", PARAM_OBJECTS, NEEDED, FIELDS(about_rows), .help = "the templates"},
};

static const struct operation rows[] = {
	{"template.create", "Make a template, so that sessions of the same kind start at once",
		ROWS(create_rows), RESULT(about_rows), .label = OPERATION_CALLER,
		.limits = "At most 32 templates: a new one replaces the least recently used. "
			  "session.create with the same parameters uses the template.",
		.errors = "not_found|access|runtime|box|limit|quota|gone",
		.example = "{'preload': ['json', 'csv']}",
		.answer = "{'template': 's-w5zq2mdc7k', 'ready': true, 'preload': ['json', 'csv']}",
		.start = start_create},
	{"template.list", "List the templates", RESULT(list_rows), .label = OPERATION_CALLER,
		.example = "{}", .answer = "{'templates': [{'ready': true}]}", .start = start_list},
};

const struct operation_family template_family = FAMILY(rows);
