/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/model.h"

#include "base/fd.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

void key_done(struct key *k)
{
	explicit_bzero(k, sizeof *k);
}

/* Copy a key without the white space around it. It must consist of characters that are valid in
 * a header. */
static int set_key(
	struct key *out, const char *text, size_t bytes, const char *from, struct err *err)
{
	while (bytes > 0 && isspace((unsigned char)text[bytes - 1]))
		bytes--;
	while (bytes > 0 && isspace((unsigned char)*text))
		text++, bytes--;
	bool is_good = bytes > 0 && bytes <= SECRET_BYTES_MAX;
	for (size_t i = 0; i < bytes && is_good; i++)
		is_good = text[i] > 0x20 && text[i] < 0x7f;
	if (!is_good)
		return err_set(err, ERR_USAGE,
			"the key in %s is not a single line of visible ASCII characters", from);
	memcpy(out->text, text, bytes);
	out->text[bytes] = '\0';
	return 0;
}

static int read_file(struct key *out, const char *file, struct err *err)
{
	char text[SECRET_BYTES_MAX + 64];
	struct stat st;
	cleanup_fd int fd = fd_open_regular(file);
	if (fd == -EINVAL)
		return err_set(err, ERR_USAGE, "the key file %s: not a regular file", file);
	if (fd < 0 || fstat(fd, &st) < 0) {
		int sys = fd < 0 ? -fd : errno;
		return err_sys(err, sys == ENOENT ? ERR_NOT_FOUND : ERR_ACCESS, sys,
			"the key file %s", file);
	}
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return err_set(err, ERR_ACCESS, "the key file %s belongs to another user", file);
	if (st.st_mode & 077) {
		(void)err_set(err, ERR_ACCESS, "other users may access the key file %s (mode %04o)",
			file, (unsigned)st.st_mode & 07777);
		return err_hint(err, "chmod 600 %s", file);
	}
	ssize_t n = fd_read_all(fd, text, sizeof text);
	int r = n < 0 ? err_set(err, n == -E2BIG ? ERR_USAGE : ERR_IO, "the key file %s: %s", file,
				n == -E2BIG ? "too long for a key" : strerror((int)-n))
		      : set_key(out, text, (size_t)n, file, err);
	explicit_bzero(text, sizeof text);
	return r;
}

static int read_variables(
	struct key *out, const struct provider *p, model_env *env, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(p->key_variables) && p->key_variables[i]; i++) {
		const char *name = p->key_variables[i], *text = env(name);
		if (!text || !*text)
			continue;
		out->is_bearer = !p->key_header || strstr(name, "TOKEN");
		out->variable = name;
		return set_key(out, text, strlen(text), name, err);
	}
	return 0;
}

bool key_is_here(const char *base)
{
	static const char *const names[] = {"localhost", "[::1]"};
	const char *host = strstr(base, "://") + 3;
	size_t n = strcspn(host, "/?#");
	size_t whole = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (whole == strlen(names[i]) && strncasecmp(host, names[i], whole) == 0)
			return true;
	/* A name such as "127.evil.example" also begins with "127.", so only digits and dots are
	 * accepted. */
	return n >= 9 && strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == whole;
}

int key_find(
	struct key *out, const struct model *m, const char *file, model_env *env, struct err *err)
{
	const struct provider *p = m->provider;
	*out = (struct key){.is_bearer = !p->key_header};
	if (p->kind != MODEL_HTTP)
		return 0;
	int r = file ? read_file(out, file, err) : read_variables(out, p, env, err);
	if (r < 0)
		return r;
	if (!out->text[0] && m->is_default && strncmp(p->base, "https:", 6) == 0) {
		(void)err_set(err, ERR_AUTH, "%s requires a key, and %s is not set", p->name,
			p->key_variables[0]);
		return err_hint(err,
			"set %s in the environment, or name a file that contains the key: --key-file",
			p->key_variables[0]);
	}
	if (out->text[0] && strncasecmp(m->base, "http:", 5) == 0 && !key_is_here(m->base)) {
		key_done(out);
		return err_fail(err, ERR_DENIED,
			"use https://, or unset the key if the server needs none",
			"%s: the address is http://, so the key would be sent over the network in the clear",
			p->name);
	}
	return 0;
}

void key_advise(const struct key *k, const struct model *m, struct err *err)
{
	const char *first = m->provider->key_variables[0];
	if (!first)
		return;
	if (!k->text[0])
		(void)err_hint(err,
			"set %s in the environment, or name a file that contains the key: --key-file",
			first);
	else if (k->variable)
		(void)err_hint(err, "check the key in %s", k->variable);
	else
		(void)err_hint(err, "check the key in the file of --key-file");
}
