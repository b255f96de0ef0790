/* SPDX-License-Identifier: Apache-2.0 */
#include "registry/build/build_text.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIELDS = 4, LIST_BYTES = 1 << 20 };

static const char *const kinds[] = {"pip", "npm", "apt"};
/* the locked lists of the package managers */
static const char *const lock_files[] = {
	"pip.lock", "package.json", "package-lock.json", "apt.lock"};

static int put(int dir, const char *name, const char *text, size_t bytes, struct err *err)
{
	int r = file_put(dir, name, text, bytes, 0644, 0);
	return r < 0 ? err_sys(err, file_code(-r), -r, "write what to install") : 0;
}

static bool is_lock_file(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(lock_files); i++)
		if (strcmp(lock_files[i], name) == 0)
			return true;
	return false;
}

static int write_lists(int dir, const json_t *spec, struct err *err)
{
	int r = 0;
	for (size_t k = 0; r == 0 && k < ARRAY_LEN(kinds); k++) {
		cleanup_buf struct buf lines = BUF_INIT(LIST_BYTES);
		size_t i;
		const json_t *word;
		json_array_foreach(json_object_get(spec, kinds[k]), i, word)(void)
			buf_addf(&lines, "%s\n", json_string_value(word));
		if (buf_error(&lines) < 0)
			return err_set(err, ERR_LIMIT, "too many packages");
		if (lines.bytes > 0)
			r = put(dir, kinds[k], buf_str(&lines), lines.bytes, err);
	}
	return r;
}

int build_text_write(
	int dir, const json_t *spec, const json_t *lock, bool is_upgrade, struct err *err)
{
	const char *name;
	const json_t *text;
	int r = write_lists(dir, spec, err);
	if (r == 0 && is_upgrade)
		r = put(dir, "upgrade", "", 0, err);
	json_object_foreach(json_unconst(lock), name, text)
	{
		if (!is_lock_file(name))
			return err_fail(err, ERR_USAGE, "use `lock` as template.get gives it",
				"lock: unknown file %.60s", name);
		if (r == 0)
			r = put(dir, name, json_string_value(text), json_string_length(text), err);
	}
	return r;
}

/*
 * Append the file @name of the directory to @out; nothing if it does not exist. A program may have
 * put anything in its place, so links are not followed, and nothing is waited for.
 */
static int get(int dir, const char *name, struct buf *out, struct err *err)
{
	struct stat st;
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	int r = fd < 0 || fstat(fd, &st) < 0 ? -errno
		: !S_ISREG(st.st_mode)	     ? -EINVAL
					     : file_read_fd(out, fd);
	if (r == 0 && utf8_is_valid(buf_str(out), out->bytes) &&
		!memchr(buf_str(out), '\0', out->bytes))
		return 0;
	return err_set(err, ERR_BUILD, "the build has written no list of packages to %s", name);
}

/* Return whether @text is printable ASCII without spaces: people read it on their terminals. */
static bool is_plain(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return bytes > 0;
}

/* Take a line of @text: kind, name, version and hash, with tabs between them. Returns: NULL if it
 * is none. */
static json_t *package_of(const char *line, size_t bytes)
{
	static const char *const names[FIELDS] = {"kind", "name", "version", "hash"};
	json_t *row = json_need(json_object());
	size_t at = 0;
	for (size_t i = 0; i < FIELDS; i++) {
		const char *tab = memchr(line + at, '\t', bytes - at);
		size_t end = tab ? (size_t)(tab - line) : bytes;
		bool is_last = i == FIELDS - 1;
		if (is_last != !tab || !is_plain(line + at, end - at)) {
			json_decref(row);
			return NULL;
		}
		json_put_textn(row, names[i], line + at, end - at);
		at = end + 1;
	}
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		if (strcmp(json_get_text(row, "kind"), kinds[k]) == 0)
			return row;
	json_decref(row);
	return NULL;
}

static int read_packages(int dir, json_t *packages, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(BUILD_LOCK_BYTES);
	int r = get(dir, "packages", &text, err);
	const char *line = buf_str(&text), *end = line + text.bytes;
	while (r == 0 && line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t bytes = (size_t)((stop ? stop : end) - line);
		json_t *row = package_of(line, bytes);
		if (!row || json_array_size(packages) == BUILD_LINES_MAX) {
			json_decref(row);
			return err_set(err, ERR_BUILD, "the build has written no list of packages");
		}
		json_add_new(packages, row);
		line += bytes + 1;
	}
	return r;
}

int build_text_read(int dir, json_t **packages, json_t **lock, struct err *err)
{
	*packages = json_need(json_array());
	*lock = json_need(json_object());
	int r = read_packages(dir, *packages, err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(lock_files); i++) {
		cleanup_buf struct buf text = BUF_INIT(BUILD_LOCK_BYTES);
		r = get(dir, lock_files[i], &text, err);
		if (r == 0 && text.bytes > 0)
			json_put_textn(*lock, lock_files[i], buf_str(&text), text.bytes);
	}
	if (r == 0)
		return 0;
	json_decref(*packages);
	json_decref(*lock);
	*packages = *lock = NULL;
	return r;
}

/* Append @word in single quotes, so that the shell takes it as it is. */
static void add_word(struct buf *out, const char *word)
{
	(void)buf_add(out, "'");
	for (const char *at = word; *at; at++)
		(void)(*at == '\'' ? buf_add(out, "'\\''") : buf_append(out, at, 1));
	(void)buf_add(out, "'");
}

int build_text_command(struct buf *out, const char *dir, const json_t *words)
{
	size_t i;
	const json_t *word;
	(void)buf_add(out, "cd -- ");
	add_word(out, dir);
	(void)buf_add(out, " &&");
	json_array_foreach(json_unconst(words), i, word)
	{
		(void)buf_add(out, " ");
		add_word(out, json_string_value(word));
	}
	return buf_error(out);
}
