/*
 * Skills on the disk. NAME.py or NAME.mjs is the code of a skill; NAME.json describes it.
 *
 * A skill is stored completely or not at all. Each file is written under a temporary name and then
 * linked to its own name, which fails if that name exists. So files are never replaced. NAME.json
 * is linked first, which reserves the name. The code is linked last, because NAME.json alone is not
 * a skill. The list of skills is read again when the modification time of the directory has
 * changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/skill/skill_store.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"
#include "tool/catalog.h"
#include "tool/identifier.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FILE_BYTES = SKILL_STORE_NAME_BYTES + 32,
	ABOUT_BYTES = 4 * SKILL_STORE_CODE_BYTES,
	MODE = 0644, /* readable for all, because boxes have another user */
};

static const struct {
	const char *runtime, *ending;
} codes[] = {{"python", ".py"}, {"javascript", ".mjs"}};

static const char about_ending[] = ".json";

/* ---- opening and closing the directory ---- */

int skill_store_open(struct skill_store *s, const char *spec, struct err *err)
{
	const char *mode = strrchr(spec, ':');
	bool is_writable = mode && strcmp(mode, ":rw") == 0;
	char text[PATH_MAX];
	*s = (struct skill_store){.dir_fd = -1, .is_writable = is_writable};
	snprintf(text, sizeof text, "%.*s",
		(int)(is_writable || (mode && strcmp(mode, ":ro") == 0) ? mode - spec : PATH_MAX),
		spec);
	s->path = realpath(text, NULL);
	s->dir_fd = s->path ? open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (s->dir_fd < 0) {
		int sys = errno;
		int r = err_sys(err, sys == EACCES ? ERR_ACCESS : ERR_NOT_FOUND, sys,
			"--skills %.200s", text);
		return err_hint(err, "name a directory of this host"), r;
	}
	if (is_writable && faccessat(s->dir_fd, ".", W_OK, AT_EACCESS) < 0) {
		int r = err_sys(err, ERR_ACCESS, errno, "--skills %.200s", spec);
		return err_hint(err, "choose a directory that you may write to, or leave :rw out"),
		       r;
	}
	return 0;
}

void skill_store_close(struct skill_store *s)
{
	if (s->path)
		fd_close(&s->dir_fd);
	free(s->path);
	json_decref(s->rows);
	*s = (struct skill_store){.dir_fd = -1};
}

/* ---- names of skills and of their files ---- */

static bool is_word(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
	return name[0] >= 'a' && name[0] <= 'z' && name[n] == '\0' && n < SKILL_STORE_NAME_BYTES;
}

int skill_store_check_name(const char *name, struct err *err)
{
	char id[IDENTIFIER_BYTES];
	if (!is_word(name)) {
		(void)err_set(
			err, ERR_USAGE, "name: \"%.80s\" is not a valid name of a skill", name);
		return err_hint(err, "up to %d lower case letters, digits and _, a letter first",
			SKILL_STORE_NAME_BYTES - 1);
	}
	identifier_make(IDENTIFIER_PYTHON, name, id);
	if (strcmp(id, name) == 0 && strcmp(name, "save") != 0)
		return 0;
	return err_fail(
		err, ERR_USAGE, "choose another name", "name: \"%s\" is a reserved name", name);
}

static void file_name(char out[FILE_BYTES], const char *name, const char *ending)
{
	snprintf(out, FILE_BYTES, "%s%s", name, ending);
}

static bool has_file(const struct skill_store *s, const char *name, const char *ending)
{
	char file[FILE_BYTES];
	struct stat st;
	file_name(file, name, ending);
	return fstatat(s->dir_fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool skill_store_has(const struct skill_store *s, const char *name)
{
	bool has = has_file(s, name, about_ending);
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		has = has || has_file(s, name, codes[i].ending);
	return has;
}

static const char *ending_of(const char *runtime)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (strcmp(codes[i].runtime, runtime) == 0)
			return codes[i].ending;
	return codes[0].ending;
}

/* ---- storing a skill ---- */

/* Write a new file, completely or not at all. */
static int put_file(const struct skill_store *s, const char *file, const char *text)
{
	return file_put(s->dir_fd, file, text, strlen(text), MODE, FILE_PUT_NEW | FILE_PUT_SYNC);
}

static int explain(int r, const char *name, struct err *err)
{
	if (r != -EEXIST)
		return err_sys(err, ERR_IO, -r, "skill %s cannot be saved", name);
	return err_fail(err, ERR_BUSY, "choose another name; only people replace saved skills",
		"skill %s exists already", name);
}

int skill_store_keep(struct skill_store *s, const struct skill_store_row *skill, struct err *err)
{
	char code_file[FILE_BYTES], about_file[FILE_BYTES];
	const json_t *rows = skill_store_list(s);
	if (!rows || json_array_size(rows) >= SKILL_STORE_SKILLS_MAX)
		return err_set(err, ERR_QUOTA, "skills: there are %d already, the maximum",
			SKILL_STORE_SKILLS_MAX);
	if (skill_store_has(s, skill->name))
		return explain(-EEXIST, skill->name, err);
	char *text = json_dumps(skill->about, JSON_INDENT(1) | JSON_ENSURE_ASCII);
	if (!text)
		return err_set(err, ERR_NO_MEMORY, "no memory for a skill");
	file_name(code_file, skill->name, ending_of(skill->runtime));
	file_name(about_file, skill->name, about_ending);
	/* NAME.json is written first, which reserves the name. The code is written last, because
	 * a skill exists as soon as its code does. */
	int r = put_file(s, about_file, text);
	free(text);
	if (r == 0 && (r = put_file(s, code_file, skill->code)) < 0)
		(void)unlinkat(s->dir_fd, about_file, 0);
	return r == 0 ? 0 : explain(r, skill->name, err);
}

/* ---- listing the skills ---- */

static json_t *read_about(const struct skill_store *s, const char *name)
{
	cleanup_buf struct buf text = BUF_INIT(ABOUT_BYTES);
	char file[FILE_BYTES];
	struct stat st;
	file_name(file, name, about_ending);
	cleanup_fd int fd = openat(s->dir_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_there = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	return is_there && file_read_fd(&text, fd) == 0
		? json_loadb(buf_str(&text), text.bytes, 0, NULL)
		: NULL;
}

/* Return the text of @key in @about, or else @fallback. Clean it for display. */
static json_t *shown(const json_t *about, const char *key, const char *fallback)
{
	cleanup_buf struct buf text = BUF_INIT(SKILL_STORE_DOC_BYTES);
	const char *found = json_string_value(json_object_get(about, key));
	catalog_clean(&text, found ? found : fallback, strlen(found ? found : fallback));
	return json_stringn(buf_str(&text), text.bytes);
}

struct found {
	char name[SKILL_STORE_NAME_BYTES];
	const char *runtime;
};

static json_t *make_row(const struct skill_store *s, const struct found *found)
{
	char title[FILE_BYTES];
	json_t *about = read_about(s, found->name);
	snprintf(title, sizeof title, "skills.%s", found->name);
	json_t *row = json_pack("{s:s, s:s, s:o, s:o}", "name", title, "runtime", found->runtime,
		"signature", shown(about, "signature", title), "doc", shown(about, "doc", ""));
	json_decref(about);
	return row;
}

/* If @file is the name of a file with code, set @out to the skill and return true. */
static bool find_skill(const char *file, struct found *out)
{
	struct err err;
	size_t n = strlen(file);
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		size_t n_ending = strlen(codes[i].ending);
		if (n <= n_ending || n - n_ending >= SKILL_STORE_NAME_BYTES ||
			strcmp(file + n - n_ending, codes[i].ending) != 0)
			continue;
		snprintf(out->name, SKILL_STORE_NAME_BYTES, "%.*s", (int)(n - n_ending), file);
		out->runtime = codes[i].runtime;
		return skill_store_check_name(out->name, &err) == 0;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

static json_t *read_rows(const struct skill_store *s)
{
	struct found *all = calloc(SKILL_STORE_SKILLS_MAX, sizeof *all);
	int fd = openat(s->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	json_t *rows = all ? json_array() : NULL;
	const struct dirent *entry;
	size_t n = 0;
	if (fd >= 0 && !dir)
		(void)close(fd);
	while (rows && dir && n < SKILL_STORE_SKILLS_MAX && (entry = readdir(dir)))
		n += find_skill(entry->d_name, &all[n]);
	if (n > 0)
		qsort(all, n, sizeof *all, compare);
	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(rows, make_row(s, &all[i]));
	if (dir)
		(void)closedir(dir);
	free(all);
	return rows;
}

const json_t *skill_store_list(struct skill_store *s)
{
	struct stat st;
	bool is_same = s->rows && fstat(s->dir_fd, &st) == 0 &&
		st.st_mtim.tv_sec == s->changed.tv_sec && st.st_mtim.tv_nsec == s->changed.tv_nsec;
	if (is_same)
		return s->rows;
	json_decref(s->rows);
	s->rows = NULL;
	if (fstat(s->dir_fd, &st) == 0) {
		s->changed = st.st_mtim;
		s->rows = read_rows(s);
	}
	return s->rows;
}
