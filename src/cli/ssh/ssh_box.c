/*
 * The programs in the box are two scripts. `start_script` writes the keys to files, since sshd
 * takes them from nowhere else, and becomes sshd. sshd makes the environment of a login anew. The
 * second script, which sshd runs for each login, command and subsystem (ForceCommand), restores
 * the environment and the directory that every process of the session has.
 *
 * Each connection writes the files again, with equal content: a program in the box may have
 * damaged them. Nothing in them is a secret from the box. mv replaces each file in one step, since
 * an sshd of another connection may be reading it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/ssh/ssh_box.h"

#include "base/json.h"

#include <stddef.h>

/* Options of sshd. It reads no configuration file.
 * - StrictModes: the files are below /tmp, where others may write, but the box has one user only.
 * - AllowAgentForwarding: nothing in a box may use the keys of a person.
 * - ClientAlive…: an sshd that nobody is connected to any more ends after a quarter of an hour.
 *   That happens if `retort ssh-proxy` is killed; otherwise its stdin ends.
 */
#define SSHD_OPTIONS                                                                               \
	"-o StrictModes=no -o PidFile=none -o AuthenticationMethods=publickey "                    \
	"-o PasswordAuthentication=no -o KbdInteractiveAuthentication=no "                         \
	"-o AllowAgentForwarding=no -o X11Forwarding=no -o PermitUserRC=no "                       \
	"-o PrintMotd=no -o PrintLastLog=no -o MaxSessions=100 "                                   \
	"-o ClientAliveInterval=60 -o ClientAliveCountMax=15 "

/* RETORT_SSH has this script. */
static const char start_script[] =
	"h=$RETORT_SSH_HOST a=$RETORT_SSH_LOGIN s=$RETORT_SSH_SHELL l=$RETORT_SSH_LOG\n"
	"unset RETORT_SSH RETORT_SSH_HOST RETORT_SSH_LOGIN RETORT_SSH_SHELL RETORT_SSH_LOG TERM\n"
	"read -r u _ </proc/self/uid_map\n"
	"[ \"$u\" != 0 ] || {\n"
	"	echo 'the user of the box is root, and sshd would have to become another user: take an "
	"image with a user, or retort exec -it' >&2\n"
	"	exit 1\n"
	"}\n"
	"for sshd in /usr/sbin/sshd /usr/local/sbin/sshd /sbin/sshd /usr/bin/sshd; do\n"
	"	[ -x $sshd ] && break\n"
	"done\n"
	"[ -x $sshd ] || exit 127\n"
	"sftp=/usr/lib/openssh/sftp-server\n"
	"for f in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do\n"
	"	[ -x $f/sftp-server ] && sftp=$f/sftp-server && break\n"
	"done\n"
	"[ -n \"$SHELL\" ] || SHELL=/bin/bash\n"
	"[ -x \"$SHELL\" ] || SHELL=/bin/sh\n"
	"export SHELL\n"
	"d=/tmp/.retort-ssh\n"
	"(\n"
	"	umask 077\n"
	"	[ -d $d ] || mkdir -p $d\n"
	"	printf '%s\\n' \"$h\" >$d/host.$$ && mv -f $d/host.$$ $d/host\n"
	"	printf '%s\\n' \"$a\" >$d/keys.$$ && mv -f $d/keys.$$ $d/keys\n"
	"	{ export -p; printf '%s\\n' \"$s\"; } >$d/login.$$ && mv -f $d/login.$$ $d/login\n"
	") 2>/dev/null || {\n"
	"	echo 'the keys cannot be written: is the disk of the session full? retort exec can "
	"make room' >&2\n"
	"	exit 1\n"
	"}\n"
	"exec $sshd -i -e -f /dev/null -h $d/host -o AuthorizedKeysFile=$d/keys " SSHD_OPTIONS
	"-o LogLevel=$l -o \"Subsystem=sftp $sftp\" -o \"ForceCommand=exec /bin/sh $d/login\"\n";

static const char login_script[] = "cd -- \"$PWD\"\n"
				   "unset MAIL\n"
				   "[ -n \"${SSH_ORIGINAL_COMMAND+x}\" ] || exec \"$SHELL\" -l\n"
				   "c=$SSH_ORIGINAL_COMMAND\n"
				   "unset SSH_ORIGINAL_COMMAND\n"
				   "exec \"$SHELL\" -c \"$c\"\n";

json_t *ssh_box_params(const char *session, const struct ssh_keys *keys, bool is_verbose)
{
	const struct {
		const char *name, *value;
	} rows[] = {{"RETORT_SSH", start_script}, {"RETORT_SSH_HOST", buf_str(&keys->host)},
		{"RETORT_SSH_LOGIN", buf_str(&keys->login)}, {"RETORT_SSH_SHELL", login_script},
		{"RETORT_SSH_LOG", is_verbose ? "DEBUG" : "ERROR"}};
	json_t *env = json_need(json_object());
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		json_put_text(env, rows[i].name, rows[i].value);
	/* The script is not an argument, so that `retort ps` stays readable. hold: no byte may be
	 * lost. keep_alive: while somebody is logged in, the session is in use. */
	return json_need(json_pack("{s:s, s:[s, s, s], s:o, s:b, s:b, s:b}", "session", session,
		"argv", "/bin/sh", "-c", "eval \"$RETORT_SSH\"", "env", env, "input", true, "hold",
		true, "keep_alive", true));
}
