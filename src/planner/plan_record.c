/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan_record.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_MAX_BYTES = 64 << 20, READ_BYTES = 1 << 16, PATH_BYTES = 4096 };

static int open_both(struct plan_record *r, const char *path, int flags, struct err *err)
{
	char beside[PATH_BYTES];
	if (snprintf(beside, sizeof beside, "%s.values", path) >= (int)sizeof beside)
		return err_set(err, ERR_LIMIT, "plan: %.100s…: the path is too long", path);
	r->fd = open(path, flags | O_CLOEXEC, 0600);
	if (r->fd < 0)
		return err_sys(err, ERR_IO, errno, "plan: the record %.180s", path);
	r->values_fd = open(beside, flags | O_CLOEXEC, 0600);
	if (r->values_fd >= 0)
		return 0;
	int rc = err_sys(err, ERR_IO, errno, "plan: the record's values %.180s", beside);
	if (flags & O_CREAT)
		(void)unlink(path);
	return rc;
}

int run_record_open(struct plan_record *r, const char *path, struct err *err)
{
	*r = (struct plan_record){.fd = -1, .values_fd = -1, .values = json_object()};
	if (!r->values)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for the record");
	if (!path)
		return 0;
	int rc = open_both(r, path, O_WRONLY | O_CREAT | O_EXCL, err);
	return rc == -EEXIST	? err_hint(err, "records are not overwritten: name a new file")
		: rc == -ENOENT ? err_hint(err, "name a file in an existing directory")
				: rc;
}

static int read_all(const char *path, struct buf *out, struct err *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno,
			"plan: the record %.180s", path);
	for (;;) {
		char *at = buf_reserve(out, READ_BYTES);
		if (!at)
			return err_set(
				err, ERR_LIMIT, "plan: the record %.180s is too large", path);
		ssize_t n = read(fd, at, READ_BYTES);
		if (n < 0 && errno != EINTR)
			return err_sys(err, ERR_IO, errno, "plan: the record %.180s", path);
		if (n == 0)
			return 0;
		buf_grown(out, n > 0 ? (size_t)n : 0);
	}
}

static int damaged(struct err *err, size_t line, const char *what)
{
	return err_set(err, ERR_DAMAGED, "plan: the record at line %zu %s", line, what);
}

/* Split @text into lines, and check that each line has the digest of the line before. */
static int read_lines(struct plan_record *r, char *text, size_t bytes, struct err *err)
{
	size_t n = 0;
	for (size_t i = 0; i < bytes; i++)
		n += text[i] == '\n';
	r->known = calloc(n + 1, sizeof *r->known);
	if (!r->known)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for the record");
	for (char *at = text, *end = text + bytes; at < end;) {
		char *stop = memchr(at, '\n', (size_t)(end - at)), now[DIGEST_BYTES];
		if (!stop)
			return damaged(err, r->n_known + 1, "is incomplete");
		json_t *line = json_loadb(at, (size_t)(stop - at), JSON_REJECT_DUPLICATES, NULL);
		const char *before = json_string_value(json_object_get(line, "before"));
		bool is_next = before && strcmp(before, r->before) == 0;
		json_decref(line);
		if (!line)
			return damaged(err, r->n_known + 1, "is not JSON");
		if (!is_next)
			return damaged(err, r->n_known ? r->n_known : 1,
				"was changed: the next line does not fit it");
		r->known[r->n_known] = strndup(at, (size_t)(stop - at));
		if (!r->known[r->n_known++])
			return err_set(err, ERR_NO_MEMORY, "plan: no memory for the record");
		digest_text(now, at, (size_t)(stop - at));
		memcpy(r->before, now, sizeof now);
		at = stop + 1;
	}
	r->before[0] = '\0';
	return r->n_known > 0 ? 0 : damaged(err, 1, "is missing: the record is empty");
}

static int read_values(struct plan_record *r, const char *path, struct err *err)
{
	char beside[PATH_BYTES], now[DIGEST_BYTES];
	cleanup_buf struct buf text = BUF_INIT(RECORD_MAX_BYTES);
	snprintf(beside, sizeof beside, "%s.values", path);
	int rc = read_all(beside, &text, err);
	if (rc < 0)
		return err_hint(err,
			"without the file of its values, a record cannot be resumed or replayed");
	const char *at = buf_str(&text), *end = at + text.bytes;
	for (size_t n = 1; at < end; n++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		json_t *one =
			stop ? json_loadb(at, (size_t)(stop - at), JSON_DECODE_ANY, NULL) : NULL;
		if (!stop)
			break; /* the run was killed while it wrote this line */
		if (!json_is_string(one)) {
			json_decref(one);
			return damaged(err, n, "of the values is not text");
		}
		digest_text(now, json_string_value(one), json_string_length(one));
		(void)json_object_set_new(r->values, now, one);
		at = stop + 1;
	}
	return 0;
}

static int check_end(struct plan_record *r, bool is_resumed, struct err *err)
{
	json_t *last = json_loads(r->known[r->n_known - 1], 0, NULL);
	const char *event = json_string_value(json_object_get(last, "event"));
	bool is_end = event && strcmp(event, "end") == 0;
	json_decref(last);
	if (is_resumed && is_end)
		return err_set(err, ERR_USAGE,
			"plan: the recorded run has ended: nothing is left to resume");
	return is_end || is_resumed
		? 0
		: damaged(err, r->n_known + 1, "is missing: the end was cut off");
}

int run_record_load(struct plan_record *r, const char *path, bool is_resumed, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(RECORD_MAX_BYTES);
	*r = (struct plan_record){.fd = -1, .values_fd = -1, .values = json_object()};
	if (!r->values)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for the record");
	int rc = read_all(path, &text, err);
	/* If the run was killed, its last line may be incomplete. Drop such a line. */
	size_t bytes = text.bytes;
	while (rc == 0 && is_resumed && bytes > 0 && text.data[bytes - 1] != '\n')
		bytes--;
	if (rc == 0)
		rc = read_lines(r, text.data, bytes, err);
	if (rc == 0)
		rc = check_end(r, is_resumed, err);
	if (rc == 0)
		rc = read_values(r, path, err);
	if (rc == 0 && is_resumed)
		rc = open_both(r, path, O_WRONLY | O_APPEND, err);
	if (rc == 0 && is_resumed && ftruncate(r->fd, (off_t)bytes) < 0)
		rc = err_sys(err, ERR_IO, errno, "plan: the record %.180s", path);
	return rc;
}

void run_record_done(struct plan_record *r)
{
	for (size_t i = 0; i < r->n_known; i++)
		free(r->known[i]);
	free(r->known);
	json_decref(r->values);
	if (r->fd >= 0)
		(void)close(r->fd);
	if (r->values_fd >= 0)
		(void)close(r->values_fd);
	*r = (struct plan_record){.fd = -1, .values_fd = -1};
}

static int write_line(int fd, const char *text, struct err *err)
{
	cleanup_buf struct buf line = BUF_INIT(RECORD_MAX_BYTES);
	if (fd < 0)
		return 0;
	if (buf_addf(&line, "%s\n", text) < 0)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for the record");
	int r = fd_write_all(fd, line.data, line.bytes);
	/* The line must be on disk before the call that it announces is made. */
	if (r == 0 && fdatasync(fd) < 0)
		r = -errno;
	return r < 0 ? err_sys(err, ERR_IO, -r, "plan: the record cannot be written") : 0;
}

int run_record_value(
	struct plan_record *r, const char *text, char out[DIGEST_BYTES], struct err *err)
{
	digest_text(out, text, strlen(text));
	if (json_object_get(r->values, out))
		return 0;
	json_t *value = json_string(text);
	char *line = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	int rc = line ? write_line(r->values_fd, line, err)
		      : err_set(err, ERR_NO_MEMORY, "plan: no memory for the record");
	free(line);
	if (rc == 0 && json_object_set(r->values, out, value) < 0)
		rc = err_set(err, ERR_NO_MEMORY, "plan: no memory for the record");
	json_decref(value);
	return rc;
}

int run_record_line(struct plan_record *r, json_t *line, struct err *err)
{
	int rc = 0;
	(void)json_object_set_new(line, "before", json_string(r->before));
	char *text = json_dumps(line, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(line);
	if (!text)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for the record");
	bool is_known = r->n_lines < r->n_known;
	if (is_known && strcmp(r->known[r->n_lines], text) != 0) {
		r->has_differed = true;
		if (!r->is_loose)
			rc = err_set(err, ERR_DAMAGED,
				"plan: the run differs from its record at line %zu",
				r->n_lines + 1);
	}
	if (rc == 0 && !is_known)
		rc = write_line(r->fd, text, err);
	/* In a replay with another policy, the new line may differ from the recorded line. The
	 * recorded line after it contains the digest of the recorded line. The next new line
	 * shall equal that line, so it must contain the same digest: that of the recorded line,
	 * not of the new line. */
	const char *kept = is_known && rc == 0 ? r->known[r->n_lines] : text;
	digest_text(r->before, kept, strlen(kept));
	r->n_lines++;
	free(text);
	return rc;
}

json_t *run_record_next(const struct plan_record *r)
{
	return r->n_lines < r->n_known ? json_loads(r->known[r->n_lines], 0, NULL) : NULL;
}

const char *run_record_text(const struct plan_record *r, const char *digest)
{
	return digest ? json_string_value(json_object_get(r->values, digest)) : NULL;
}
