/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/runtime.h"

#include "base/alloc.h"
#include "base/word.h"
#include "runtime/start.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ENDING_BYTES_MAX = 5 };

static const struct runtime *const runtimes[] = {
	&runtime_python, &runtime_node, &runtime_sql, &runtime_shell};

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

const struct runtime *runtime_by_name(const char *name)
{
	size_t bytes = strlen(name);
	for (size_t i = 0; i < ARRAY_LEN(runtimes); i++)
		if (strcasecmp(runtimes[i]->name, name) == 0 ||
			word_is_in(runtimes[i]->words, name, bytes) ||
			word_is_in(runtimes[i]->endings, name, bytes))
			return runtimes[i];
	return NULL;
}

/* Return the next word of a line, without its directories: "python" for "/usr/bin/python". *@at
 * moves behind the word. Returns: NULL at @end. */
static const char *next_word(const char **at, const char *end, size_t *bytes)
{
	while (*at < end && (**at == ' ' || **at == '\t'))
		(*at)++;
	const char *from = *at;
	for (; *at < end && **at != ' ' && **at != '\t' && **at != '\r'; (*at)++)
		if (**at == '/')
			from = *at + 1;
	*bytes = (size_t)(*at - from);
	return *bytes > 0 ? from : NULL;
}

/* Return the interpreter in a `#!` line, without its directory. `#!/usr/bin/env -S A=1 python`
 * gives "python": options and variables behind `env` are skipped. Returns: NULL without such a
 * line. */
static const char *shebang_word(const char *code, size_t bytes, size_t *word_bytes)
{
	if (bytes < 2 || code[0] != '#' || code[1] != '!')
		return NULL;
	const char *end = memchr(code, '\n', bytes);
	end = end ? end : code + bytes;
	const char *at = code + 2;
	const char *word = next_word(&at, end, word_bytes);
	bool is_env = word && *word_bytes == 3 && strncmp(word, "env", 3) == 0;
	while (is_env && (word = next_word(&at, end, word_bytes)) &&
		(word[0] == '-' || memchr(word, '=', *word_bytes)))
		;
	return word;
}

/* Return the length of the word without a version at its end: 6 for "python3.12". */
static size_t without_version(const char *word, size_t bytes)
{
	while (bytes > 0 && strchr("0123456789.", word[bytes - 1]))
		bytes--;
	return bytes;
}

/* Return whether @dot, the text behind the last dot of a file name, looks like the ending of
 * source code: "rb" does; a version ("2024") or a generated suffix ("hT5xPq0aZk") does not. */
static bool has_ending(const char *dot)
{
	size_t n = strspn(dot, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
	return n > 0 && n <= ENDING_BYTES_MAX && !dot[n] && strspn(dot, "0123456789") < n;
}

/* Languages that retort does not run. `words`: their file name endings, and the interpreters in
 * their `#!` lines. */
static const struct {
	const char *language, *words;
} others[] = {
	{"awk", "|awk|gawk|mawk|nawk|"},
	{"C", "|c|h|"},
	{"C#", "|cs|csx|"},
	{"C++", "|cc|cpp|cxx|hpp|hxx|"},
	{"Clojure", "|clj|cljs|"},
	{"Dart", "|dart|"},
	{"Elixir", "|ex|exs|elixir|"},
	{"Erlang", "|erl|escript|"},
	{"Fortran", "|f|for|f77|f90|f95|"},
	{"Go", "|go|"},
	{"Haskell", "|hs|lhs|runhaskell|"},
	{"Java", "|java|jar|"},
	{"JSX", "|jsx|tsx|"},
	{"Julia", "|jl|julia|"},
	{"Kotlin", "|kt|kts|"},
	{"Lisp", "|el|lisp|scm|rkt|guile|racket|"},
	{"Lua", "|lua|luajit|"},
	{"Octave", "|m|octave|"},
	{"OCaml", "|ml|mli|ocaml|"},
	{"Perl", "|pl|pm|perl|"},
	{"PHP", "|php|"},
	{"PowerShell", "|ps1|psm1|pwsh|"},
	{"R", "|r|rmd|rscript|"},
	{"Ruby", "|rb|rake|ruby|"},
	{"Rust", "|rs|"},
	{"Scala", "|scala|sc|"},
	{"Swift", "|swift|"},
	{"Tcl", "|tcl|tclsh|wish|expect|"},
};

static const char data_endings[] =
	"|arrow|avro|bmp|bz2|cfg|conf|csv|dat|db|doc|docx|feather|geojson|gif|gz|h5|hdf5|htm|html|"
	"ini|jpeg|jpg|json|jsonl|log|md|mp3|mp4|ndjson|npy|npz|odp|ods|odt|orc|parquet|pdf|pickle|"
	"pkl|png|ppt|pptx|rds|rtf|sqlite|sqlite3|svg|tar|tgz|tif|tiff|toml|tsv|txt|wav|webp|xls|"
	"xlsm|xlsx|xml|xz|yaml|yml|zip|zst|";

static const char *other_language(const char *word, size_t bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (word_is_in(others[i].words, word, bytes))
			return others[i].language;
	return NULL;
}

bool runtime_is_data(const char *filename)
{
	const char *dot = filename ? strrchr(filename, '.') : NULL;
	return dot && word_is_in(data_endings, dot + 1, strlen(dot + 1));
}

/* Report that no runtime exists for @what: a file name ending, such as ".rb", or the interpreter
 * of a `#!` line. */
static int fail_unknown(const char *filename, const char *what, size_t bytes, struct err *err)
{
	bool is_ending = what[0] == '.';
	const char *language = other_language(what + is_ending, bytes - is_ending);
	err_set(err, ERR_RUNTIME, "%.200s: no runtime for %.*s", filename, (int)MIN(bytes, 60),
		what);
	if (strncmp(what, ".ipynb", 6) == 0)
		return err_hint(err,
			"a notebook is not a program: `retort run FILE.ipynb` runs all of its "
			"cells");
	if (language)
		return err_hint(
			err, "retort does not run %s; it runs %s", language, runtime_names());
	if (is_ending && runtime_is_data(filename))
		return err_hint(err, "it is data: name a program, and give it the file: -v FILE");
	return err_hint(err, "name its language: `runtime`, with one of %s", runtime_names());
}

/* Find a runtime by a file name ending, or by the interpreter of a `#!` line. Returns: NULL if
 * no runtime has that word. */
static const struct runtime *find_by(bool by_ending, const char *word, size_t bytes)
{
	const struct runtime *one = NULL;
	for (unsigned i = 0; word && (one = runtime_at(i)); i++)
		if (word_is_in(by_ending ? one->endings : one->words, word, bytes))
			break;
	return one;
}

int runtime_guess(const char *filename, const char *code, size_t bytes, const struct runtime **out,
	struct err *err)
{
	const char *dot = filename ? strrchr(filename, '.') : NULL;
	size_t word_bytes = 0;
	const char *word = shebang_word(code, bytes, &word_bytes);
	const struct runtime *found =
		find_by(true, dot ? dot + 1 : NULL, dot ? strlen(dot + 1) : 0);
	found = found ? found : find_by(false, word, word_bytes);
	found = found ? found : find_by(false, word, without_version(word, word_bytes));
	filename = filename ? filename : "the code";
	if (!found && word)
		return fail_unknown(filename, word, word_bytes, err);
	if (!found && dot && (has_ending(dot + 1) || runtime_is_data(filename)))
		return fail_unknown(filename, dot, strlen(dot), err);
	*out = found;
	return 0;
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
	enum bind_kind kind = dst ? BIND_DRIVER : BIND_INSTALLATION;
	dst = dst ? dst : path;
	for (size_t i = 0; i < start->n_binds; i++)
		if (strcmp(start->binds[i].dst, dst) == 0)
			return 0;
	if (!start->binds)
		start->binds = xcalloc(RUNTIME_BINDS_MAX, sizeof *start->binds);
	struct warden_bind *bind = &start->binds[start->n_binds];
	if (strlen(path) >= sizeof bind->src || strlen(dst) >= sizeof bind->dst)
		return err_set(err, ERR_LIMIT, "path is too long: %.100s…", path);
	*bind = (struct warden_bind){.kind = kind, .dev = st.st_dev, .ino = st.st_ino};
	strcpy(bind->src, path);
	strcpy(bind->dst, dst);
	start->n_binds++;
	return 0;
}

int runtime_bind_driver(const struct runtime_request *req, struct runtime_start *start,
	const char *name, const char *dst, struct err *err)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s/%s", req->drivers_dir, name);
	int r = n > 0 && n < PATH_MAX
		? runtime_bind(start, path, dst, err)
		: err_set(err, ERR_LIMIT, "path is too long: %.100s…", req->drivers_dir);
	if (r < 0)
		(void)err_hint(err, "install retort again: its parts must stay together");
	return r;
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
