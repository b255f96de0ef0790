/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/secret.h"

#include "api/once/secret_list.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* With a line break. */
enum { SOURCE_BYTES = SECRET_VALUE_MAX + 2 };

static int too_long(const char *name, struct err *err)
{
	(void)err_set(err, ERR_LIMIT, "--secret %.64s: the value is too long", name);
	return err_negative(err_hint(
		err, "a value has at most %d bytes: name the place of one key", SECRET_VALUE_MAX));
}

static int from_environment(
	const char *name, const char *variable, struct buf *out, struct err *err)
{
	const char *value = getenv(variable);
	if (value)
		return buf_add(out, value) < 0 ? too_long(name, err) : 0;
	(void)err_set(
		err, ERR_USAGE, "--secret %.64s: the variable %.100s is not set", name, variable);
	if (strchr(variable, '@'))
		return err_hint(err,
			"leave out the @HOST: it goes to the host that the session was made with");
	return err_hint(err, "export %.100s=…", variable);
}

static int from_file(const char *name, const char *path, struct buf *out, struct err *err)
{
	int r = file_load(out, path, "the file", err);
	if (r < 0 && err->code == ERR_LIMIT)
		return too_long(name, err);
	return r < 0 ? err_wrap(err, "--secret %.64s", name) : 0;
}

static int from_command(const char *name, const char *command, struct buf *out, struct err *err)
{
	/* NOLINTNEXTLINE(cert-env33-c): the user's own command */
	FILE *pipe = popen(command, "re");
	if (!pipe)
		return err_sys(err, ERR_IO, errno, "--secret %.64s: start a shell", name);
	int r = file_read_fd(out, fileno(pipe));
	int status = pclose(pipe);
	if (r == -E2BIG)
		return too_long(name, err);
	if (r < 0)
		return err_sys(err, ERR_IO, -r, "--secret %.64s: read from the command", name);
	if (status != 0)
		return err_fail(err, ERR_USAGE, "try the command alone",
			"--secret %.64s: the command failed with status %d: %.200s", name,
			WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), command);
	return 0;
}

static const struct {
	const char *word;
	int (*read)(const char *name, const char *arg, struct buf *out, struct err *err);
} sources[] = {
	{"env:", from_environment},
	{"file:", from_file},
	{"command:", from_command},
};

static void cut_last(struct buf *b, char c)
{
	if (b->bytes > 0 && b->data[b->bytes - 1] == c)
		buf_cut(b, b->bytes - 1);
}

static int read_source(struct secret_given *s, size_t which, const char *arg, struct err *err)
{
	cleanup_wipe_buf struct buf out = BUF_INIT(SOURCE_BYTES);
	/* No piece of the value stays behind in memory that becomes too small. */
	if (!buf_reserve(&out, SOURCE_BYTES))
		return err_set(err, ERR_NO_MEMORY, "no memory for a secret");
	int r = sources[which].read(s->name, arg, &out, err);
	if (r < 0)
		return r;
	if (strlen(buf_str(&out)) != out.bytes)
		return err_set(err, ERR_USAGE, "--secret %.64s: the value has a NUL byte", s->name);
	if (sources[which].read != from_environment) {
		cut_last(&out, '\n');
		cut_last(&out, '\r');
	}
	s->value = xstrdup(buf_str(&out));
	return 0;
}

static int read_value(struct secret_given *s, const char *source, bool has_value, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		size_t bytes = strlen(sources[i].word);
		if (strncmp(source, sources[i].word, bytes) == 0 && source[bytes])
			return has_value ? read_source(s, i, source + bytes, err) : 0;
	}
	return err_fail(err, ERR_USAGE,
		"name the place of the value, as a command line can be read by others: "
		"env:VARIABLE, file:PATH or command:COMMAND",
		"--secret %.64s: nothing says where its value is", s->name);
}

/* Owns: the caller ends @out with given_done(), also after an error. */
static int given_read(struct secret_given *out, const char *text, int flags, struct err *err)
{
	bool has_host = flags & SECRET_HAS_HOST;
	const char *hint = has_host ? "for example --secret API_KEY=env:API_KEY@api.example"
				    : "for example --secret API_KEY=env:API_KEY";
	*out = (struct secret_given){0};
	const char *equals = strchr(text, '=');
	const char *at = has_host ? strrchr(text, '@') : text + strlen(text);
	if (!equals || equals == text)
		return err_fail(err, ERR_USAGE, hint, "--secret: this is not NAME=SOURCE%s",
			has_host ? "@HOST" : "");
	out->name = strndup(text, (size_t)(equals - text));
	if (!out->name)
		return err_set(err, ERR_NO_MEMORY, "no memory for a secret");
	if (!at || at < equals || (has_host && !at[1]))
		return err_fail(err, ERR_USAGE, hint,
			"--secret %.64s: no host, to which it may go, stands behind an @",
			out->name);
	char *source = strndup(equals + 1, (size_t)(at - equals - 1));
	out->to = xstrdup(at + has_host);
	int r = source ? read_value(out, source, flags & SECRET_GET_VALUE, err)
		       : err_set(err, ERR_NO_MEMORY, "no memory for a secret");
	free(source);
	return r;
}

static void given_done(struct secret_given *s)
{
	if (s->value)
		explicit_bzero(s->value, strlen(s->value));
	free(s->name);
	free(s->to);
	free(s->value);
	*s = (struct secret_given){0};
}

int secret_each(
	const struct opt_list *options, int flags, secret_take_fn *take, void *arg, struct err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < options->n; i++) {
		struct secret_given s;
		r = given_read(&s, options->item[i], flags, err);
		if (r == 0 && take)
			r = take(arg, &s, err);
		given_done(&s);
	}
	return r;
}

int secret_add_row(void *arg, const struct secret_given *s, struct err *err)
{
	json_t *row = json_pack("{s:s, s:s}", "name", s->name, "value", s->value);
	if (!row)
		return err_set(err, ERR_USAGE, "--secret: the value is not UTF-8");
	if (s->to[0])
		json_put_text(row, "to", s->to);
	json_add_new(arg, row);
	return 0;
}

bool secret_is_same(const json_t *given, const json_t *kept)
{
	struct secret place;
	struct err err;
	char prefix[SECRET_PREFIX_BYTES], to[SECRET_PLACE_BYTES];
	if (strcmp(json_get_text(given, "name"), json_get_text(kept, "name")) != 0 ||
		secret_read_place(&place, prefix, json_get_text(given, "to"), &err) < 0)
		return false;
	secret_write_place(&place, to);
	return strcmp(to, json_get_text(kept, "to")) == 0;
}
