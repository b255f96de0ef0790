/* The command `retort ssh-proxy`: joins its standard input and output to an sshd in a session.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/text/printable.h"
#include "base/json.h"
#include "cli/process/foreground.h"
#include "cli/session/session.h"
#include "cli/ssh/ssh_box.h"
#include "cli/ssh/ssh_keys.h"
#include "cli/ssh/ssh_place.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	LINE_MAX_BYTES = 4096,
	REPORT_MAX_BYTES = 4096, /* what is shown without -v */
};

struct ssh_proxy_args {
	const char *socket, *keys;
	bool verbose, help;
	int color;
};

/* clang-format off */
static const struct opt ssh_proxy_opts[] = {
	{.name = "keys", OPT_INTO_TEXT(struct ssh_proxy_args, keys), .arg = "DIR", .flags = OPT_NO_ENV,
		.group = "Options", .complete = OPT_COMPLETE_FILE,
		.help = "directory of the keys (default: the one that `retort ssh-config` prints)"},
	{.name = "verbose", .letter = 'v', OPT_INTO_FLAG(struct ssh_proxy_args, verbose), .flags = OPT_NO_ENV,
		.group = "Options", .help = "show what sshd in the box reports"},
	SOCKET_OPT(struct ssh_proxy_args, socket),
	CMD_COMMON_OPTS(struct ssh_proxy_args),
};
/* clang-format on */

/* Show what sshd has reported, up to the last line end, or all of it. It may come from any program
 * in the box, and the reader is a terminal. */
static void show_reports(struct pump *p, bool is_all)
{
	struct buf *text = &p->out[1].waiting;
	const char *end;
	while (text->bytes > 0) {
		end = memchr(text->data, '\n', text->bytes);
		if (!end && !is_all && text->bytes < LINE_MAX_BYTES)
			return;
		size_t bytes = end ? (size_t)(end - text->data) : text->bytes;
		size_t shown = bytes > 0 && text->data[bytes - 1] == '\r' ? bytes - 1 : bytes;
		cleanup_buf struct buf line = BUF_INIT(16 * LINE_MAX_BYTES);
		(void)printable_add(&line, text->data, MIN(shown, (size_t)LINE_MAX_BYTES));
		if (line.bytes > 0)
			fprintf(stderr, "retort: sshd: %s\n", buf_str(&line));
		buf_consume(text, bytes + (end != NULL));
	}
}

static int fail_sshd(struct err *err)
{
	return err_fail(err, ERR_NOT_FOUND,
		"install openssh-server on the engine's host, or in the session's image; its "
		"service need not run",
		"there is no sshd in the box");
}

/* Say how the connection ended. @is_ours: it did not end at ssh's wish. */
static int finish(struct pump *p, bool is_ours, struct err *err)
{
	cleanup_json json_t *about = json_incref(p->about);
	if (p->end == PUMP_INTERRUPTED || p->end == PUMP_UNREAD)
		return 0;
	if (p->end != PUMP_EXITED) {
		*err = p->err;
		return -err_errno(err->code);
	}
	int status = foreground_status(about);
	if (!is_ours || status == 0)
		return 0;
	if (status == SSH_BOX_NO_SSHD)
		return fail_sshd(err);
	if (p->out[1].waiting.bytes > REPORT_MAX_BYTES)
		buf_cut(&p->out[1].waiting, REPORT_MAX_BYTES);
	show_reports(p, true);
	foreground_tell(about, 0);
	return status;
}

static int serve(const struct ssh_proxy_args *args, struct client *client, json_t *params,
	const char *session, struct err *err)
{
	struct pump p;
	const struct pump_config config = {.client = client,
		.session = session,
		.in_fd = STDIN_FILENO,
		.out_fd = {STDOUT_FILENO, -1}};
	pump_open(&p, &config, "process.start", params);
	while (pump_turn(&p))
		if (args->verbose)
			show_reports(&p, false);
	if (args->verbose)
		show_reports(&p, true);
	int status = finish(&p, !p.is_input_over, err);
	pump_close(&p);
	return status;
}

static int find_keys(const struct ssh_proxy_args *args, struct client *client, const char *session,
	struct ssh_place *place, struct ssh_keys *keys, struct err *err)
{
	cleanup_json json_t *about = NULL;
	int r = client_call(client, "session.get",
		json_need(json_pack("{s:s}", "session", session)), NULL, &about, err);
	if (r < 0 && err->code == ERR_NOT_FOUND && args->keys)
		ssh_keys_forget(args->keys);
	if (r == 0)
		r = ssh_place_find(place, session, about, args->socket, args->keys, err);
	return r < 0 ? r : ssh_keys_need(keys, place, client, err);
}

static int proxy(const struct ssh_proxy_args *args, const char *session, struct err *err)
{
	struct client client;
	struct ssh_place place;
	struct ssh_keys keys = {0};
	int r = client_open(&client, args->socket, err);
	if (r == 0)
		r = find_keys(args, &client, session, &place, &keys, err);
	if (r == 0)
		r = serve(args, &client, ssh_box_params(place.session, &keys, args->verbose),
			place.session, err);
	buf_done(&keys.host);
	buf_done(&keys.login);
	client_done(&client);
	return r;
}

static int ssh_proxy_main(int argc, char **argv)
{
	struct ssh_proxy_args args = {0};
	struct err err = {0};
	const char *session = NULL;
	int r = session_operand(&cmd_ssh_proxy, &args, argc, argv, &session, &err);
	if (r == 0 && session)
		r = proxy(&args, session, &err);
	return r < 0 ? cli_fail(&err, false) : r;
}

static const char *const usage[] = {"ssh-proxy [options] SESSION", NULL};

static const struct cmd_exit exits[] = {
	{"0", "the connection was closed by ssh"},
	{"1-255", "sshd in the box has ended with this status, as after a refused login"},
	{"2", "usage error: a wrong option or session"},
	{"4", "no engine listens at the socket, or it has ended"},
	{"137", "the session or its box has ended"},
};

const struct cmd cmd_ssh_proxy = {
	.name = "ssh-proxy",
	.summary = "Connect ssh with a session; run by ssh",
	.usage = usage,
	.text = "Runs sshd of the host's openssh-server in the session's box, for one connection on "
		"standard input and output. ssh runs this command, as `retort ssh-config` tells it. "
		"Keys for the session are made when they are first needed, in the user's state "
		"directory; they are removed when the session is gone and keys are made next. While "
		"somebody is logged in, the session does not expire as idle.",
	.opts = ssh_proxy_opts,
	.n_opts = ARRAY_LEN(ssh_proxy_opts),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.operand = CMD_OPERAND_SESSION,
	.run = ssh_proxy_main,
};
