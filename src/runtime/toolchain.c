/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/toolchain.h"

#include "base/word.h"
#include "runtime/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const struct toolchain toolchains[] = {
#include "runtime/toolchain.def"
};

size_t toolchain_count(void)
{
	return ARRAY_LEN(toolchains);
}

const struct toolchain *toolchain_at(size_t i)
{
	return i < ARRAY_LEN(toolchains) ? &toolchains[i] : NULL;
}

static bool is_called(const struct toolchain *t, const char *language)
{
	return strcasecmp(t->language, language) == 0 ||
		word_is_in(t->words, language, strlen(language));
}

const struct toolchain *toolchain_find(const char *language)
{
	const struct toolchain *first = NULL;
	char path[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(toolchains); i++) {
		const struct toolchain *t = &toolchains[i];
		if (!is_called(t, language))
			continue;
		if (toolchain_program(t, path))
			return t;
		first = first ? first : t;
	}
	return first;
}

/* Return whether @path is a program, also in a box. It may be a link, as Debian's alternatives are.
 */
static bool is_program(const char *path)
{
	char real[PATH_MAX];
	struct stat st;
	return realpath(path, real) && runtime_is_in_box(real) && stat(real, &st) == 0 &&
		S_ISREG(st.st_mode) && (st.st_mode & S_IXOTH);
}

/* Find a program by its name of @bytes bytes in the directories of @dirs, "/a:/b". */
static bool find_in(const char *dirs, const char *name, size_t bytes, char path[PATH_MAX])
{
	for (const char *at = dirs; *at; at += *at == ':') {
		size_t n = strcspn(at, ":");
		snprintf(path, PATH_MAX, "%.*s/%.*s", (int)n, at, (int)bytes, name);
		if (is_program(path))
			return true;
		at += n;
	}
	return false;
}

bool toolchain_program(const struct toolchain *t, char path[PATH_MAX])
{
	path[0] = '\0';
	if (!t->programs)
		return true;
	for (const char *at = t->programs; *at; at += *at == '|') {
		size_t n = strcspn(at, "|");
		if (at[0] != '/' && find_in(RUNTIME_PATH, at, n, path))
			return true;
		snprintf(path, PATH_MAX, "%.*s", (int)n, at);
		if (at[0] == '/' && is_program(path))
			return true;
		at += n;
	}
	path[0] = '\0';
	return false;
}

int toolchain_missing(const struct toolchain *t, const char *language, struct err *err)
{
	struct word_near near = WORD_NEAR(language);
	if (t) {
		int n = (int)strcspn(t->programs, "|");
		(void)err_set(err, ERR_RUNTIME, "this host cannot run %s: it has no %.*s",
			t->language, n, t->programs);
		return t->package
			? err_hint(err, "install it, in Debian with: apt install %s", t->package)
			: err_hint(err, "install it below /usr");
	}
	for (size_t i = 0; i < ARRAY_LEN(toolchains); i++)
		word_near_try(&near, toolchains[i].language);
	(void)err_set(err, ERR_RUNTIME, "no language is called \"%.64s\"", language);
	return near.best ? err_hint(err, "did you mean %s?", near.best)
			 : err_hint(err, "`program.languages` lists them");
}
