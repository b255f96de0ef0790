/* The command `retort ps`: lists the programs that run in a session. SPDX-License-Identifier:
 * Apache-2.0 */
#include "base/json.h"
#include "base/num.h"
#include "cli/screen/table.h"
#include "cli/screen/term.h"
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

enum { N_COLUMNS = 7, CELL_BYTES = 512, OUT_MAX_BYTES = 16 << 20, STEP_CHARS = 12 };

/* The cells of one row. */
struct row {
	char cell[N_COLUMNS][CELL_BYTES];
};

static const char *name_of(const json_t *process)
{
	const char *name = json_get_text(process, "name");
	return name[0] ? name : json_get_text(process, "process");
}

/* Write how a process has ended: "exited 1", "killed by KILL". */
static void write_state(char *out, const json_t *process)
{
	const char *state = json_get_text(process, "state"),
		   *ended = json_get_text(process, "ended");
	int number = (int)json_get_int(process, "signal");
	const char *name = sigabbrev_np(number);
	if (ended[0])
		snprintf(out, CELL_BYTES, "ended: %.20s", ended);
	else if (number > 0)
		snprintf(out, CELL_BYTES, "killed by %s", name ? name : "a signal");
	else if (strcmp(state, "exited") == 0)
		snprintf(out, CELL_BYTES, "exited %d", (int)json_get_int(process, "exit_code"));
	else
		snprintf(out, CELL_BYTES, "%s", state[0] ? state : "running");
}

static void write_command(char *out, const json_t *process)
{
	const json_t *argv = json_object_get(process, "argv");
	size_t used = 0;
	if (!argv)
		snprintf(out, CELL_BYTES, "%.500s", json_get_text(process, "command"));
	for (size_t i = 0; i < json_array_size(argv) && used < CELL_BYTES; i++) {
		const char *word = json_string_value(json_array_get(argv, i));
		int n = snprintf(
			out + used, CELL_BYTES - used, "%s%s", i ? " " : "", word ? word : "");
		used += (size_t)MAX(n, 0);
	}
	if (used >= CELL_BYTES)
		out[utf8_cut(out, CELL_BYTES - 1, CELL_BYTES - 1)] = '\0';
}

static void write_row(struct row *row, const json_t *process)
{
	const char *step = json_get_text(process, "step");
	const json_t *cpu = json_object_get(process, "cpu_ms");
	int64_t memory_bytes = json_get_int(process, "memory_bytes");
	snprintf(row->cell[0], CELL_BYTES, "%lld", (long long)json_get_int(process, "pid"));
	snprintf(row->cell[1], CELL_BYTES, "%.500s", name_of(process));
	snprintf(row->cell[2], CELL_BYTES, "%.20s%s%.*s", json_get_text(process, "by"),
		step[0] ? " " : "", STEP_CHARS, step);
	write_state(row->cell[3], process);
	if (json_is_number(cpu))
		snprintf(row->cell[4], CELL_BYTES, "%s",
			num_format_ms((uint64_t)json_number_value(cpu)).text);
	if (memory_bytes > 0)
		snprintf(row->cell[5], CELL_BYTES, "%s",
			num_format_bytes((uint64_t)memory_bytes).text);
	write_command(row->cell[6], process);
}

static int print_table(const json_t *list, struct err *err)
{
	static const char *const heads[N_COLUMNS] = {
		"PID", "PROCESS", "BY", "STATE", "CPU", "MEMORY", "COMMAND"};
	const json_t *processes = json_object_get(list, "processes");
	size_t n = json_array_size(processes);
	size_t columns = term_is(STDOUT_FILENO) ? (size_t)term_columns(STDOUT_FILENO) : 0;
	cleanup_buf struct buf out = BUF_INIT(OUT_MAX_BYTES);
	struct row *rows = calloc(n + 1, sizeof *rows);
	const char **cells = calloc((n + 1) * N_COLUMNS, sizeof *cells);
	int r = rows && cells ? 0 : -1;
	for (size_t i = 0; r == 0 && i < N_COLUMNS; i++)
		cells[i] = heads[i];
	for (size_t i = 0; r == 0 && i < n; i++) {
		write_row(&rows[i], json_array_get(processes, i));
		for (size_t j = 0; j < N_COLUMNS; j++)
			cells[(i + 1) * N_COLUMNS + j] = rows[i].cell[j];
	}
	if (r == 0)
		r = table_write(&out, cells, N_COLUMNS, n + 1, columns);
	free(rows);
	free(cells);
	if (r < 0)
		return err_set(err, ERR_NO_MEMORY, "no memory for the table");
	return fwrite(buf_str(&out), 1, out.bytes, stdout) != out.bytes;
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

static int check_operands(int argc, char **argv, int at, struct err *err)
{
	if (at == argc)
		return err_fail(err, ERR_USAGE, "`retort session ls` lists them",
			"ps: the session is missing");
	if (at + 1 < argc)
		return err_fail(
			err, ERR_USAGE, "leave it out", "ps: unexpected \"%.60s\"", argv[at + 1]);
	return 0;
}

static int list(const struct ps_args *args, const char *session, struct err *err)
{
	struct client client;
	cleanup_json json_t *processes = NULL;
	int r = client_open(&client, args->socket, err);
	json_t *params = r < 0 ? NULL : json_pack("{s:s}", "session", session);
	if (r == 0 && !params)
		r = err_set(err, ERR_USAGE, "session %.100s: not UTF-8", session);
	if (r == 0)
		r = client_call(&client, "process.list", params, NULL, &processes, err);
	client_done(&client);
	if (r < 0)
		return r;
	return args->json     ? view_json(processes)
		: args->quiet ? print_names(processes)
			      : print_table(processes, err);
}

static int ps_main(int argc, char **argv)
{
	struct ps_args args = {0};
	struct opt_set set;
	struct err err = {0};
	int at = cmd_parse(&cmd_ps, &set, &args, argc, argv, &err);
	if (at == 0)
		return 0;
	int r = at < 0 ? at : cmd_config(&set, NULL, &err);
	if (r == 0)
		r = check_operands(argc, argv, at, &err);
	if (r == 0)
		r = list(&args, argv[at], &err);
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
