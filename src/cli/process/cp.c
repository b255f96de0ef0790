/* The command `retort cp`: copies files between this host and a session.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Both directions go through a `tar` that runs in the box, with the rights of the box, so that
 * paths mean in the box what they mean to its programs, and the engine opens no file for us.
 * libarchive reads and writes the archive on this side. What comes out of a box is hostile: see
 * cp_out.c.
 */
#include "cli/process/cp.h"

#include "base/json.h"
#include "base/utf8.h"
#include "cli/process/foreground.h"
#include "cli/session/session.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REST_MAX_BYTES = 1 << 20 };

struct cp_args {
	const char *socket;
	uint64_t max_bytes;
	bool dereference, help;
	int color;
};

/* clang-format off */
static const struct opt cp_opts[] = {
	{.name = "dereference", .letter = 'L', OPT_INTO_FLAG(struct cp_args, dereference), .flags = OPT_NO_ENV,
		.group = "Options", .help = "copy what symbolic links lead to, not the links"},
	{.name = "max-size", OPT_INTO_BYTES(struct cp_args, max_bytes), .arg = "SIZE", .group = "Options",
		.fallback = "4g", .min = 1, .max = UINT64_C(1) << 50,
		.help = "the most that is copied out of a session"},
	SOCKET_OPT(struct cp_args, socket),
	CMD_COMMON_OPTS(struct cp_args),
};
/* clang-format on */

int cp_cut(const char *path, struct cp_path *out, struct err *err)
{
	char text[CP_NAME_BYTES];
	size_t bytes = strlen(path);
	*out = (struct cp_path){0};
	if (bytes == 0)
		return err_fail(
			err, ERR_USAGE, "write . for the workspace", "cp: the path is empty");
	if (bytes >= sizeof text)
		return err_set(err, ERR_USAGE, "cp: a path of %zu bytes, limit %zu", bytes,
			sizeof text - 1);
	memcpy(text, path, bytes + 1);
	out->has_slash = text[bytes - 1] == '/';
	while (bytes > 1 && text[bytes - 1] == '/')
		text[--bytes] = '\0';
	char *slash = strrchr(text, '/');
	const char *name = slash ? slash + 1 : text;
	out->is_content = !*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
	if (out->is_content) {
		snprintf(out->dir, sizeof out->dir, "%s", text);
		snprintf(out->name, sizeof out->name, ".");
		return 0;
	}
	snprintf(out->name, sizeof out->name, "%s", name);
	if (slash)
		*slash = '\0';
	snprintf(out->dir, sizeof out->dir, "%s", !slash ? "." : slash == text ? "/" : text);
	return 0;
}

void cp_leave_out(struct cp *cp, const char *name, const char *why)
{
	cleanup_buf struct buf line = BUF_INIT(8 * CP_NAME_BYTES);
	(void)utf8_escape_terminal(
		&line, name, MIN(strlen(name), (size_t)CP_NAME_BYTES), UTF8_ONE_LINE);
	fprintf(stderr, "retort: cp: %s was left out: %s\n", buf_str(&line), why);
	cp->n_left_out++;
}

/* ---- tar in the box ---- */

static struct foreground_order order_of(
	const struct cp *cp, const struct process_args *args, const char *const *argv)
{
	return (struct foreground_order){.args = args,
		.session = cp->session,
		.cwd = "/home/user", /* not that of an image */
		.argv = (char *const *)(uintptr_t)argv,
		.in_fd = STDIN_FILENO,
		.keep_alive = true,
		.is_tied = true};
}

void cp_start(struct cp *cp, struct pump *p, const char *const *argv, bool has_input)
{
	const struct process_args args = {.input = has_input};
	const struct foreground_order order = order_of(cp, &args, argv);
	const struct pump_config config = {.client = cp->client,
		.session = cp->session,
		.in_fd = -1,
		.out_fd = {-1, -1},
		.is_tied = true};
	struct err err;
	pump_open(p, &config, "process.start", foreground_params(&order, &err));
}

/* tar says the second of these when the last write before the limit was a short one. */
static bool is_of_full_disk(const char *said)
{
	static const char *const words[] = {
		"No space left on device", "Wrote only ", "Disk quota exceeded"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstr(said, words[i]))
			return true;
	return false;
}

/* Describe why tar failed: the first line of what it said. */
static int fail_tar(const struct cp *cp, const struct pump *p, const json_t *about, struct err *err)
{
	const struct buf *said = &p->out[1].waiting;
	int status = foreground_status(about);
	size_t bytes = strcspn(buf_str(said), "\n");
	if (is_of_full_disk(buf_str(said)))
		return err_fail(err, ERR_NO_SPACE,
			"remove files there, or make a session with a larger --disk",
			"cp: the disk of session %.60s is full", cp->session);
	if (bytes > 0)
		return err_set(err, strstr(buf_str(said), "No such file") ? ERR_NOT_FOUND : ERR_IO,
			"cp: in session %.60s: %.*s", cp->session, (int)MIN(bytes, (size_t)160),
			buf_str(said));
	return err_set(
		err, ERR_IO, "cp: tar in session %.60s ended with status %d", cp->session, status);
}

static int fail_start(struct err *err)
{
	if (err->code == ERR_RUNTIME)
		return err_hint(err, "`retort cp` needs tar in the box");
	return -err_errno(err->code);
}

/* Return whether tar has failed by itself. @is_killed: we may have ended it. */
static bool is_failed_tar(const json_t *about, bool is_killed)
{
	bool is_by_signal = json_get_int(about, "signal") > 0;
	return foreground_status(about) != 0 && !(is_killed && is_by_signal);
}

int cp_finish(struct cp *cp, struct pump *p, bool has_input, bool is_failed, struct err *err)
{
	size_t n_rest = 0;
	int r = 0;
	pump_end_input(p);
	if (is_failed)
		pump_kill(p);
	else if (!has_input)
		pump_expect_end(p);
	while (pump_turn(p)) {
		n_rest += p->out[0].waiting.bytes;
		buf_clear(&p->out[0].waiting);
		if (n_rest > REST_MAX_BYTES)
			pump_kill(p);
	}
	if (p->last_signal)
		r = 128 + p->last_signal;
	else if (p->end != PUMP_EXITED) {
		*err = p->err;
		r = fail_start(err);
	} else if (is_failed_tar(p->about, is_failed))
		r = fail_tar(cp, p, p->about, err);
	pump_close(p);
	return r;
}

int cp_pass(struct cp *cp, const char *const *argv, bool has_input, struct err *err)
{
	const struct process_args args = {.input = has_input};
	const struct foreground_order order = order_of(cp, &args, argv);
	cleanup_json json_t *about = NULL;
	int r = foreground_run(cp->client, &order, &about, err);
	return r < 0 ? fail_start(err) : r;
}

/* ---- the command ---- */

/* Return where the path in "SESSION:PATH" begins, or NULL for a path of this host: one without a
 * colon, or with a slash before it, or "-". */
static char *path_in_session(char *text)
{
	size_t n = strcspn(text, ":/");
	return n > 0 && text[n] == ':' && text[0] != '.' ? text + n + 1 : NULL;
}

static int check_operands(int argc, char **argv, int at, struct err *err)
{
	if (argc - at < 2)
		return err_fail(err, ERR_USAGE, "for example: retort cp work:result.csv .",
			"cp: %s is missing", argc == at ? "the source" : "the destination");
	if (argc - at > 2)
		return err_fail(err, ERR_USAGE, "copy one at a time, or a directory",
			"cp: unexpected \"%.60s\"", argv[at + 2]);
	bool is_out = path_in_session(argv[at]), is_in = path_in_session(argv[at + 1]);
	if (is_out && is_in)
		return err_fail(err, ERR_USAGE,
			"copy through an archive: retort cp A:DIR - | retort cp - B:DIR",
			"cp: both are in a session");
	if (!is_out && !is_in)
		return err_fail(err, ERR_USAGE,
			"write SESSION:PATH for the one that is in a session; ./a:b is a file here",
			"cp: neither is in a session");
	return 0;
}

static int copy(const struct cp_args *args, char **operands, struct err *err)
{
	char *path = path_in_session(operands[0]);
	bool is_out = path;
	char *session = operands[is_out ? 0 : 1];
	struct client client;
	path = is_out ? path : session + strcspn(session, ":") + 1;
	struct cp cp = {.client = &client,
		.session = session,
		.box_path = *path ? path : ".",
		.host_path = operands[is_out ? 1 : 0],
		.max_bytes = args->max_bytes,
		.is_through_links = args->dereference};
	path[-1] = '\0';
	if (!utf8_is_valid(session, strlen(session)) || !utf8_is_valid(path, strlen(path)))
		return err_fail(err, ERR_USAGE, "write it in UTF-8, or copy its directory",
			"cp: %.60s:%.100s is not UTF-8", session, path);
	int r = client_open(&client, args->socket, err);
	if (r == 0)
		r = is_out ? cp_out(&cp, err) : cp_in(&cp, err);
	client_done(&client);
	return r == 0 && cp.n_left_out > 0 ? 1 : r;
}

static int cp_main(int argc, char **argv)
{
	struct cp_args args = {.max_bytes = UINT64_C(4) << 30};
	struct err err = {0};
	int at = cmd_begin(&cmd_cp, &args, argc, argv, &err);
	if (at == 0)
		return 0;
	int r = MIN(at, 0);
	if (r == 0)
		r = check_operands(argc, argv, at, &err);
	if (r == 0)
		r = copy(&args, argv + at, &err);
	return r < 0 ? cli_fail(&err, false) : r;
}

static const char *const usage[] = {
	"cp [options] SESSION:PATH DEST|-", "cp [options] PATH|- SESSION:DEST", NULL};

static const struct cmd_example examples[] = {
	{"copy a file into the workspace", "retort cp orders.csv work:"},
	{"copy a directory out", "retort cp work:results ."},
	{"copy what is in a directory", "retort cp ./data/. work:/tmp"},
	{"copy between sessions", "retort cp work:results - | retort cp - trial:"},
};

static const struct cmd_exit exits[] = {
	{"0", "everything was copied"},
	{"1", "failed, or something was left out"},
	{"2", "usage error: a wrong option, session or file"},
	{"4", "no engine listens at the socket, or it has ended"},
	{"127", "there is no tar in the box"},
	{"130", "interrupted"},
};

const struct cmd cmd_cp = {
	.name = "cp",
	.summary = "Copy files between this host and a session",
	.usage = usage,
	.text = "Copies a file, or a directory with everything in it. If DEST is a directory, the copy is "
		"made in it; otherwise DEST is the name of the copy. A source that ends with /. stands "
		"for what is in the directory. - is an archive (tar) on standard input or output. Paths "
		"in a session are relative to its workspace; a path of this host with a colon is "
		"written with ./ before it.\n\n"
		"Links are copied as links. Out of a session come only files, directories, and links "
		"that lead to something in the copied directory: anything else is named and left out. "
		"Copies belong to whoever makes them. A copy is not in the journal: where the engine "
		"rebuilds a session by running its steps again, copied files are missing.",
	.opts = cp_opts,
	.n_opts = ARRAY_LEN(cp_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.operand = CMD_OPERAND_FILE,
	.run = cp_main,
};
