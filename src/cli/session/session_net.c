/* The command `retort session net`. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_session.h"
#include "base/json.h"
#include "cli/secret.h"
#include "cli/session/session.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct opt opts[] = {
	{.name = "add", OPT_INTO_FLAG(struct session_args, add), .flags = OPT_NO_ENV, .group = "Options",
		.help = "add the rules to those that the session has"},
	{.name = "secret", OPT_INTO_LIST(struct session_args, box.secrets), .arg = "NAME=SOURCE", .flags = OPT_NO_ENV,
		.help = "give a secret of the session its value again, after a restart of the engine. "
			"SOURCE: env:VARIABLE, file:PATH or command:COMMAND"},
	{.name = "json", OPT_INTO_FLAG(struct session_args, output.json), .flags = OPT_NO_ENV,
		.group = "Output", .help = "print one JSON object"},
	SESSION_SOCKET_OPT,
	CMD_COMMON_OPTS(struct session_args),
};
/* clang-format on */

/* Returns: NULL, with @err, if a secret has no value. */
static json_t *net_params(const struct session_run *run, struct err *err)
{
	json_t *params = json_need(json_object());
	json_put_text(params, "session", run->operands[0]);
	json_t *secrets = json_need(json_array());
	json_put_new(params, "secrets", secrets);
	if (secret_each(&run->args.box.secrets, SECRET_GET_VALUE, secret_add_row, secrets, err) <
		0) {
		json_decref(params);
		return NULL;
	}
	if (run->n_operands == 1)
		return params;
	json_t *rules = json_need(json_array());
	bool is_none = run->n_operands == 2 && strcmp(run->operands[1], "none") == 0;
	for (int i = 1; i < run->n_operands && !is_none; i++)
		json_add_text(rules, run->operands[i]);
	json_put_new(params, "net", rules);
	json_put_bool(params, "add", run->args.add);
	return params;
}

static int show(const struct session_run *run, const json_t *result)
{
	size_t i;
	json_t *rule, *secret;
	if (run->args.output.json)
		return view_json(result);
	json_array_foreach(json_object_get(result, "net"), i, rule) puts(json_string_value(rule));
	if (i == 0)
		puts("none");
	json_array_foreach(json_object_get(result, "secrets"), i, secret)
	{
		bool has_value = json_is_true(json_object_get(secret, "has_value"));
		printf("secret %s for %s%s\n", json_get_text(secret, "name"),
			json_get_text(secret, "to"), has_value ? "" : ", whose value is not known");
	}
	return 0;
}

static int net_main(int argc, char **argv)
{
	struct session_run run;
	struct err err = {0};
	json_t *result = NULL;
	int status = 0;
	int r = session_begin(
		&run, &cmd_session_net, &(struct session_argv){argc, argv, 1, -1}, &err);
	if (r == 0)
		return 0;
	if (r > 0) {
		json_t *params = net_params(&run, &err);
		r = params ? session_call(&run, "session.net", params, &result, &err)
			   : -err_errno(err.code);
	}
	if (r == 0)
		status = show(&run, result);
	json_decref(result);
	return session_end(&run, r, &err, status);
}

static const char *const usage[] = {
	"session net SESSION [--add] [--secret NAME=SOURCE] [RULE... | none]", NULL};

static const struct cmd_example examples[] = {
	{"see what the session may connect to", "retort session net work"},
	{"let it connect to one more host", "retort session net work --add api.example"},
	{"close the network again", "retort session net work none"},
};

const struct cmd cmd_session_net = {
	.name = "session net",
	.summary = TEXT_NET,
	.usage = usage,
	.text = "Without a rule, prints the rules of the session. With rules, replaces them, now "
		"and for its later branches; connections that they do not allow end. The rules are "
		"those of --net: HOST[:PORT], *.HOST[:PORT], ADDRESS[/BITS][:PORT], any[:PORT], ask[:PORT], \"METHOD HOST[:PORT]/PATH\", "
		"and the sets pypi, npm, debian, crates and go.",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.exits = session_exits,
	.n_exits = SESSION_EXITS,
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.operand = CMD_OPERAND_SESSION,
	.run = net_main,
};
