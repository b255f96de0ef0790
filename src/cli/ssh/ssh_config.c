/* The command `retort ssh-config`: prints what the configuration of ssh needs for a session.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_session.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/session/session.h"
#include "cli/ssh/ssh_keys.h"
#include "cli/ssh/ssh_place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STANZA_MAX_BYTES = 64 << 10 };

/* Lines that are the same for every session. A program in the box may have made a server of its
 * own, so ssh gives it nothing: no agent, no display, no other key, and no other host's key is
 * learned from it. */
static const char constant_lines[] = "\tUser user\n"
				     "\tPreferredAuthentications publickey\n"
				     "\tIdentitiesOnly yes\n"
				     "\tIdentityAgent none\n"
				     "\tForwardAgent no\n"
				     "\tForwardX11 no\n"
				     "\tHostKeyAlias " SSH_KEYS_ALIAS "\n"
				     "\tStrictHostKeyChecking yes\n"
				     "\tUpdateHostKeys no\n"
				     "\tVerifyHostKeyDNS no\n"
				     "\tGlobalKnownHostsFile /dev/null\n";

/* Append @text with every % doubled, which ssh would otherwise replace. */
static void add_percent(struct buf *out, const char *text)
{
	for (; *text; text++)
		(void)buf_append(out, *text == '%' ? "%%" : text, *text == '%' ? 2 : 1);
}

/* Append a word of a command for the shell. */
static void add_word(struct buf *out, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-%+=:@,";
	if (!word[strspn(word, plain)]) {
		add_percent(out, word);
		return;
	}
	(void)buf_add(out, "'");
	for (const char *quote; (quote = strchr(word, '\'')); word = quote + 1) {
		char *before = strndup(word, (size_t)(quote - word));
		if (before)
			add_percent(out, before);
		else
			buf_fail(out, -ENOMEM);
		free(before);
		(void)buf_add(out, "'\\''");
	}
	add_percent(out, word);
	(void)buf_add(out, "'");
}

static void add_file(
	struct buf *out, const char *option, const struct ssh_place *place, const char *name)
{
	(void)buf_addf(out, "\t%s \"", option);
	add_percent(out, place->dir);
	(void)buf_addf(out, "/%s\"\n", name);
}

static void add_stanza(struct buf *out, const char *program, const struct ssh_place *place)
{
	(void)buf_addf(out, "# session %s\nHost %s\n\tProxyCommand ", place->session, place->host);
	add_word(out, program);
	(void)buf_add(out, " ssh-proxy --socket ");
	add_word(out, place->socket);
	(void)buf_add(out, " --keys ");
	add_word(out, place->dir);
	(void)buf_addf(out, " %s\n", place->host);
	add_file(out, "IdentityFile", place, SSH_KEYS_LOGIN);
	add_file(out, "UserKnownHostsFile", place, SSH_KEYS_KNOWN);
	(void)buf_add(out, constant_lines);
}

/* Find the absolute path of this program. */
static int find_program(char out[PATH_MAX], struct err *err)
{
	ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
	if (n < 0)
		return err_sys(err, ERR_IO, errno, "read /proc/self/exe");
	out[n] = '\0';
	for (const char *c = out; *c; c++)
		if ((unsigned char)*c < ' ')
			return err_fail(err, ERR_USAGE, "install it elsewhere",
				"the path of retort has a control character");
	return 0;
}

static int describe(
	struct session_run *run, const char *session, struct ssh_place *place, struct err *err)
{
	cleanup_json json_t *about = NULL;
	int r = session_call(
		run, "session.get", json_pack("{s:s}", "session", session), &about, err);
	return r < 0 ? r : ssh_place_find(place, session, about, run->args.socket, NULL, err);
}

static int print_all(struct session_run *run, struct err *err)
{
	cleanup_buf struct buf out = BUF_INIT((size_t)run->n_operands * STANZA_MAX_BYTES);
	char program[PATH_MAX];
	struct ssh_place place;
	int r = find_program(program, err);
	for (int i = 0; r == 0 && i < run->n_operands; i++) {
		r = describe(run, run->operands[i], &place, err);
		if (r == 0 && i > 0)
			(void)buf_add(&out, "\n");
		if (r == 0)
			add_stanza(&out, program, &place);
	}
	if (r == 0 && buf_error(&out) < 0)
		r = err_set(err, ERR_NO_MEMORY, "no memory for the configuration");
	if (r == 0)
		(void)fwrite(buf_str(&out), 1, out.bytes, stdout);
	return r;
}

static int ssh_config_main(int argc, char **argv)
{
	struct session_run run;
	struct err err = {0};
	int r = session_begin(
		&run, &cmd_ssh_config, &(struct session_argv){argc, argv, 1, -1, false}, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = print_all(&run, &err);
	return session_end(&run, r, &err, 0);
}

static const struct opt ssh_config_opts[] = {
	SESSION_SOCKET_OPT,
	CMD_COMMON_OPTS(struct session_args),
};

static const char *const usage[] = {"ssh-config [--socket PATH] SESSION…", NULL};

static const struct cmd_example examples[] = {
	{"log in to the session work", "retort ssh-config work >work.conf; ssh -F work.conf work"},
	{"write it where `Include work.conf` in ~/.ssh/config finds it",
		"retort ssh-config work >~/.ssh/work.conf"},
};

const struct cmd cmd_ssh_config = {
	.name = "ssh-config",
	.summary = "Print settings with which ssh logs in to sessions",
	.usage = usage,
	.text = "Prints one block per session for the configuration of ssh. With it, ssh, scp, sftp, "
		"rsync, git and editors use the session as a host. The host's name is that of the "
		"session, or its id if ssh would not take the name as it is. No port is opened: ssh "
		"runs `retort ssh-proxy`. Put the lines before those of `Host *`, because ssh takes "
		"the first value that it finds.",
	.opts = ssh_config_opts,
	.n_opts = ARRAY_LEN(ssh_config_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = session_exits,
	.n_exits = SESSION_EXITS,
	.operand = CMD_OPERAND_SESSIONS,
	.run = ssh_config_main,
};
