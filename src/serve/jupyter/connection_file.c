/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/connection_file.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PORT_MAX = 65535 };

/* ORDER enum jupyter_channel */
static const struct {
	const char *word, *member;
} rows[JUPYTER_CHANNELS] = {{"shell", "shell_port"}, {"control", "control_port"},
	{"stdin", "stdin_port"}, {"iopub", "iopub_port"}, {"heartbeat", "hb_port"}};

const char *connection_file_channel(enum jupyter_channel channel)
{
	return rows[channel].word;
}

/* Read a text member. Returns: @fallback if the member is missing; NULL and @err if it is wrong. */
static const char *text_of(
	const json_t *file, const char *member, const char *fallback, struct err *err)
{
	const json_t *value = json_object_get(file, member);
	const char *text = json_string_value(value);
	if (!value && fallback)
		return fallback;
	if (!text || strlen(text) != json_string_length(value)) {
		(void)err_set(err, ERR_USAGE, "%s: %s", member, value ? "not a text" : "missing");
		return NULL;
	}
	return text;
}

/* Write the address of a channel. An address of IPv6 has brackets. */
static int read_place(struct connection_file *out, int channel, const json_t *file, const char *ip,
	struct err *err)
{
	const char *member = rows[channel].member;
	const json_t *port = json_object_get(file, member);
	int64_t n = json_integer_value(port);
	bool has_brackets = !out->is_ipc && strchr(ip, ':') && ip[0] != '[';
	if (!json_is_integer(port) || n < 1 || n > PORT_MAX)
		return err_set(err, ERR_USAGE, "%s: %s", member,
			port ? "not a number from 1 to 65535" : "missing");
	int bytes = snprintf(out->places[channel], CONNECTION_PLACE_BYTES, "%s%s%s%s%" PRId64,
		out->is_ipc ? "ipc://" : "tcp://", has_brackets ? "[" : "", ip,
		out->is_ipc	       ? "-"
			: has_brackets ? "]:"
				       : ":",
		n);
	return bytes < CONNECTION_PLACE_BYTES ? 0 : err_set(err, ERR_USAGE, "ip: too long");
}

static int read_file(struct connection_file *out, const json_t *file, struct err *err)
{
	const char *transport = text_of(file, "transport", "tcp", err);
	const char *scheme = text_of(file, "signature_scheme", "hmac-sha256", err);
	const char *ip = text_of(file, "ip", NULL, err), *key = text_of(file, "key", NULL, err);
	int r = 0;
	if (!transport || !scheme || !ip || !key)
		return -err_errno(err->code);
	if (strcmp(transport, "tcp") != 0 && strcmp(transport, "ipc") != 0)
		return err_set(err, ERR_USAGE, "transport: \"%.40s\": not tcp or ipc", transport);
	if (key[0] && strcmp(scheme, "hmac-sha256") != 0)
		return err_set(
			err, ERR_USAGE, "signature_scheme: \"%.40s\": not hmac-sha256", scheme);
	if (strlen(key) > SIGNATURE_KEY_BYTES)
		return err_set(err, ERR_USAGE, "key: over %d bytes", SIGNATURE_KEY_BYTES);
	if (!ip[0])
		return err_set(err, ERR_USAGE, "ip: empty");
	out->is_ipc = strcmp(transport, "ipc") == 0;
	snprintf(out->key, sizeof out->key, "%s", key);
	for (int i = 0; r == 0 && i < JUPYTER_CHANNELS; i++)
		r = read_place(out, i, file, ip, err);
	return r;
}

int connection_file_parse(
	struct connection_file *out, const char *text, size_t bytes, struct err *err)
{
	json_error_t why;
	struct connection_file connection = {.is_ipc = false};
	cleanup_json json_t *file = json_loadb(text, bytes, 0, &why);
	if (!file)
		return err_set(err, ERR_USAGE, "not JSON: line %d: %.100s", why.line, why.text);
	if (!json_is_object(file))
		return err_set(err, ERR_USAGE, "not an object");
	int r = read_file(&connection, file, err);
	if (r == 0)
		*out = connection;
	explicit_bzero(connection.key, sizeof connection.key);
	return r;
}

static int check_owner(int fd, bool *is_open, struct err *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_sys(err, ERR_IO, errno, "the connection file");
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_USAGE, "not a regular file");
	if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return err_fail(err, ERR_ACCESS, "chmod 600 the file, and let it be yours",
			"others may change it, and with it the key");
	*is_open = (st.st_mode & (S_IRGRP | S_IROTH)) != 0;
	return 0;
}

int connection_file_load(
	struct connection_file *out, const char *path, bool *is_open, struct err *err)
{
	cleanup_wipe_buf struct buf text = BUF_INIT(CONNECTION_TEXT_BYTES);
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r = fd < 0 ? err_sys(err, file_code(errno), errno, "%s", path) : 0;
	if (r < 0)
		return r;
	r = check_owner(fd, is_open, err);
	if (r == 0 && (r = file_read_fd(&text, fd)) < 0)
		r = r == -E2BIG
			? err_set(err, ERR_LIMIT, "over %d KiB", CONNECTION_TEXT_BYTES >> 10)
			: err_sys(err, ERR_IO, -r, "read");
	if (r == 0)
		r = connection_file_parse(out, buf_str(&text), text.bytes, err);
	return r < 0 ? err_wrap(err, "%.150s", path) : 0;
}
