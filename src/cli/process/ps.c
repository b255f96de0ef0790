/* The command `retort ps`: lists the programs that run in a session. SPDX-License-Identifier:
 * Apache-2.0 */
#include "base/json.h"
#include "base/num.h"
#include "cli/screen/grid.h"
#include "cli/session/session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ps_args {
	const char *socket;
	bool quiet, json, help;
	int color;
};

/* clang-format off */
static const struct opt ps_opts[] = {
	{.name = "quiet", .letter = 'q', OPT_INTO_FLAG(struct ps_args, quiet), .flags = OPT_NO_ENV,
		.group = "Output", .help = "print only names, or ids of processes without a name"},
	{.name = "json", OPT_INTO_FLAG(struct ps_args, json), .flags = OPT_NO_ENV, .group = "Output",
		.help = "print one JSON object"},
	SOCKET_OPT(struct ps_args, socket),
	CMD_COMMON_OPTS(struct ps_args),
};
/* clang-format on */

enum { STATE_BYTES = 64, COMMAND_BYTES = 512, STEP_CHARS = 12 };

static const char *name_of(const json_t *process)
{
	const char *name = json_get_text(process, "name");
	return name[0] ? name : json_get_text(process, "process");
}

/* Add how a process has ended: "exited 1", "killed by KILL". */
static void add_state(struct grid *c, const json_t *process)
{
	const char *state = json_get_text(process, "state"),
		   *ended = json_get_text(process, "ended");
	int number = (int)json_get_int(process, "signal");
	const char *name = sigabbrev_np(number);
	if (ended[0])
		grid_addf(c, "ended: %.20s", ended);
	else if (number > 0)
		grid_addf(c, "killed by %s", name ? name : "a signal");
	else if (strcmp(state, "exited") == 0)
		grid_addf(c, "exited %d", (int)json_get_int(process, "exit_code"));
	else
		grid_add(c, state[0] ? state : "running");
}

static void add_command(struct grid *c, const json_t *process)
{
	const json_t *argv = json_object_get(process, "argv");
	cleanup_buf struct buf text = BUF_INIT(COMMAND_BYTES);
	if (!argv)
		(void)buf_add(&text, json_get_text(process, "command"));
	for (size_t i = 0; i < json_array_size(argv) && text.bytes < COMMAND_BYTES; i++) {
		const char *word = json_string_value(json_array_get(argv, i));
		size_t room = COMMAND_BYTES - text.bytes - 1;
		word = word ? word : "";
		if (i > 0)
			(void)buf_add(&text, " ");
		(void)buf_append(&text, word, utf8_cut(word, strlen(word), room));
	}
	grid_add_bytes(c, buf_str(&text), text.bytes);
}

static void add_row(struct grid *c, const json_t *process)
{
	const char *step = json_get_text(process, "step");
	const json_t *cpu = json_object_get(process, "cpu_ms");
	int64_t memory_bytes = json_get_int(process, "memory_bytes");
	grid_addf(c, "%lld", (long long)json_get_int(process, "pid"));
	grid_add(c, name_of(process));
	grid_addf(c, "%.20s%s%.*s", json_get_text(process, "by"), step[0] ? " " : "", STEP_CHARS,
		step);
	add_state(c, process);
	grid_add(
		c, json_is_number(cpu) ? num_format_ms((uint64_t)json_number_value(cpu)).text : "");
	grid_add(c, memory_bytes > 0 ? num_format_bytes((uint64_t)memory_bytes).text : "");
	add_command(c, process);
}

static int print_table(const json_t *list)
{
	static const char *const heads[] = {
		"PID", "PROCESS", "BY", "STATE", "CPU", "MEMORY", "COMMAND"};
	const json_t *processes = json_object_get(list, "processes");
	size_t n = json_array_size(processes);
	struct grid c = grid_new(heads, ARRAY_LEN(heads), n);
	for (size_t i = 0; i < n; i++)
		add_row(&c, json_array_get(processes, i));
	return grid_print(&c, stdout, grid_width(stdout));
}

static int print_names(const json_t *list)
{
	const json_t *processes = json_object_get(list, "processes");
	int r = 0;
	for (size_t i = 0; r >= 0 && i < json_array_size(processes); i++) {
		const char *name = name_of(json_array_get(processes, i));
		if (name[0])
			r = puts(name);
	}
	return r < 0;
}

static int list(const struct ps_args *args, const char *session, struct err *err)
{
	struct client client;
	cleanup_json json_t *processes = NULL;
	int r = client_open(&client, args->socket, err);
	if (r == 0)
		r = client_call(&client, "process.list",
			json_need(json_pack("{s:s}", "session", session)), NULL, &processes, err);
	client_done(&client);
	if (r < 0)
		return r;
	return args->json     ? view_json(processes)
		: args->quiet ? print_names(processes)
			      : print_table(processes);
}

static int ps_main(int argc, char **argv)
{
	struct ps_args args = {0};
	struct err err = {0};
	const char *session = NULL;
	int r = session_operand(&cmd_ps, &args, argc, argv, &session, &err);
	if (r == 0 && session)
		r = list(&args, session, &err);
	return r < 0 ? cli_fail(&err, args.json) : r;
}

static const char *const usage[] = {"ps [--quiet | --json] SESSION", NULL};

const struct cmd cmd_ps = {
	.name = "ps",
	.summary = "List the programs of a session",
	.usage = usage,
	.text = "Lists the programs that `retort exec` and other clients have started in the session, "
		"also those that have ended, and what its steps have left running.",
	.opts = ps_opts,
	.n_opts = ARRAY_LEN(ps_opts),
	.exits = session_exits,
	.n_exits = SESSION_EXITS,
	.operand = CMD_OPERAND_SESSION,
	.run = ps_main,
};
