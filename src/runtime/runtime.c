/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/runtime.h"
#include "runtime/start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct runtime *const runtimes[] = {
	&runtime_python, &runtime_node, &runtime_sql, &runtime_shell};

const struct runtime *runtime_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(runtimes); i++)
		if (strcmp(runtimes[i]->name, name) == 0)
			return runtimes[i];
	return NULL;
}

unsigned runtime_index(const struct runtime *runtime)
{
	unsigned i = 0;
	while (runtimes[i] != runtime)
		i++;
	return i;
}

const struct runtime *runtime_at(unsigned index)
{
	return index < ARRAY_LEN(runtimes) ? runtimes[index] : NULL;
}

/* Is the word in a list such as "|py|pyw|"? */
static bool has_word(const char *list, const char *word, size_t bytes)
{
	for (const char *at = list; bytes > 0 && (at = strchr(at, '|')) && at[1]; at++)
		if (strncmp(at + 1, word, bytes) == 0 && at[1 + bytes] == '|')
			return true;
	return false;
}

/* The last path part of the interpreter in a `#!` line; `env` is looked through. */
static const char *shebang_word(const char *code, size_t bytes, size_t *word_bytes)
{
	if (bytes < 2 || code[0] != '#' || code[1] != '!')
		return NULL;
	const char *end = memchr(code, '\n', bytes);
	end = end ? end : code + bytes;
	const char *word = NULL;
	for (const char *at = code + 2; at < end;) {
		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		const char *from = at;
		for (; at < end && *at != ' ' && *at != '\t' && *at != '\r'; at++)
			if (*at == '/')
				from = at + 1;
		if (at == from || *from == '-')
			break;
		word = from;
		*word_bytes = (size_t)(at - from);
		if (*word_bytes != 3 || strncmp(word, "env", 3) != 0)
			break;
	}
	return word;
}

const struct runtime *runtime_guess(const char *filename, const char *code, size_t bytes)
{
	const char *dot = filename ? strrchr(filename, '.') : NULL;
	size_t word_bytes = 0;
	const char *word = shebang_word(code, bytes, &word_bytes);
	for (size_t i = 0; dot && i < ARRAY_LEN(runtimes); i++)
		if (has_word(runtimes[i]->endings, dot + 1, strlen(dot + 1)))
			return runtimes[i];
	for (size_t i = 0; word && i < ARRAY_LEN(runtimes); i++)
		if (has_word(runtimes[i]->words, word, word_bytes))
			return runtimes[i];
	return &runtime_python;
}

const char *runtime_names(void)
{
	return "python, javascript, sql, shell";
}

void runtime_start_done(struct runtime_start *start)
{
	free(start->binds);
	for (size_t i = 0; i < ARRAY_LEN(start->argv); i++)
		free(start->argv[i]);
	for (size_t i = 0; i < ARRAY_LEN(start->envp); i++)
		free(start->envp[i]);
	*start = (struct runtime_start){0};
}

bool runtime_is_in_box(const char *path)
{
	static const char *const always[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64"};
	for (size_t i = 0; i < ARRAY_LEN(always); i++) {
		size_t n = strlen(always[i]);
		if (strncmp(path, always[i], n) == 0 && (path[n] == '/' || path[n] == '\0'))
			return true;
	}
	return false;
}

int runtime_bind(struct runtime_start *start, const char *path, const char *dst, struct err *err)
{
	struct stat st;
	if (!dst && runtime_is_in_box(path))
		return 0;
	if (start->n_binds == RUNTIME_BINDS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d directories to bind for the runtime",
			RUNTIME_BINDS_MAX);
	if (stat(path, &st) < 0)
		return err_sys(err, ERR_NOT_FOUND, errno, "%s", path);
	enum bind_kind kind = dst ? BIND_DRIVER : BIND_VOLUME_RO;
	dst = dst ? dst : path;
	for (size_t i = 0; i < start->n_binds; i++)
		if (strcmp(start->binds[i].dst, dst) == 0)
			return 0;
	if (!start->binds)
		start->binds = calloc(RUNTIME_BINDS_MAX, sizeof *start->binds);
	if (!start->binds)
		return err_set(err, ERR_NO_MEMORY, "no memory to bind %s", path);
	struct warden_bind *bind = &start->binds[start->n_binds];
	if (strlen(path) >= sizeof bind->src || strlen(dst) >= sizeof bind->dst)
		return err_set(err, ERR_LIMIT, "path is too long: %.100s…", path);
	*bind = (struct warden_bind){.kind = kind, .dev = st.st_dev, .ino = st.st_ino};
	strcpy(bind->src, path);
	strcpy(bind->dst, dst);
	start->n_binds++;
	return 0;
}

int runtime_add(char **list, size_t max, struct err *err, const char *fmt, ...)
{
	size_t n = 0;
	va_list ap;
	while (n < max && list[n])
		n++;
	if (n == max)
		return err_set(err, ERR_LIMIT, "more than %zu arguments or variables", max);
	va_start(ap, fmt);
	int r = vasprintf(&list[n], fmt, ap);
	va_end(ap);
	if (r < 0) {
		list[n] = NULL;
		return err_set(err, ERR_NO_MEMORY, "no memory for arguments");
	}
	return 0;
}
