/*
 * Turn a shell's report into a script that restores the shell's state.
 *
 * A report is a sequence of parts, each of which ends with a NUL byte: exit status and options,
 * directory, umask, variables (declare -p), functions, attributes of functions (declare -F),
 * aliases, positional parameters, and "end". A report that lacks "end" was truncated. Most parts
 * are valid shell code, because bash prints its state in a form that it can read again.
 * state_take() therefore splits them into statements, drops what must not be restored, and
 * concatenates the rest.
 *
 * Three things need care. First, variables that bash sets itself, or that describe one process, are
 * dropped by name. Second, some options and the traps DEBUG and RETURN would affect the driver's
 * own commands. They are set aside between steps and restored just before the user's code (@resume,
 * @prefix). Third, the EXIT trap consists of the driver's hook, which writes a last report, and of
 * the user's trap. The two are separated here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "state.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum part { OPTIONS, CWD, UMASK, VARIABLES, FUNCTIONS, MARKS, ALIASES, PARAMS, END, N_PARTS };

/* Variables that are not restored: bash sets them itself, or they describe one process. */
static const char *const own_variables[] = {"BASH", "BASHOPTS", "BASHPID", "BASH_ALIASES",
	"BASH_ARGC", "BASH_ARGV", "BASH_ARGV0", "BASH_CMDS", "BASH_COMMAND",
	"BASH_EXECUTION_STRING", "BASH_LINENO", "BASH_SOURCE", "BASH_SUBSHELL", "BASH_VERSINFO",
	"BASH_VERSION", "COMP_WORDBREAKS", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "EUID",
	"FUNCNAME", "GROUPS", "HISTCMD", "LINENO", "PIPESTATUS", "POSIXLY_CORRECT", "PPID", "PWD",
	"RANDOM", "SECONDS", "SHELLOPTS", "SHLVL", "SRANDOM", "UID", "_"};

/*
 * Options of `set -o`, with their default in a new shell. onecmd and noexec are not listed, because
 * they would end the script that restores them.
 */
static const struct {
	const char *name;
	bool is_default, is_aside; /* is_aside: switched off between steps */
} set_options[] = {{"allexport"}, {"braceexpand", true}, {"errexit", false, true},
	{"errtrace", false, true}, {"functrace", false, true}, {"hashall", true}, {"ignoreeof"},
	{"interactive-comments", true}, {"keyword"}, {"monitor"}, {"noclobber"}, {"noglob"},
	{"nounset", false, true}, {"notify"}, {"physical"}, {"pipefail"}, {"posix", false, true},
	{"verbose", false, true}, {"xtrace", false, true}};
static const char *const not_restored[] = {"onecmd", "noexec", "history", "histexpand", "emacs",
	"vi", "privileged", "nolog", "login_shell", "restricted_shell"};
static const char default_shopts[] =
	"checkwinsize cmdhist complete_fullquote extquote force_fignore globasciiranges globskipdots "
	"hostcomplete interactive_comments patsub_replacement progcomp promptvars sourcepath";

static bool is_in(const char *const *list, size_t n, const char *word, size_t bytes)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == bytes && memcmp(list[i], word, bytes) == 0)
			return true;
	return false;
}

void state_init(struct state *st)
{
	*st = (struct state){.text = BUF_INIT(2 * REPORT_BYTES_MAX),
		.resume = BUF_INIT(2 * TRAPS_BYTES_MAX),
		.prefix = BUF_INIT(8 * TRAPS_BYTES_MAX),
		.params = BUF_INIT(REPORT_BYTES_MAX),
		.on_exit = BUF_INIT(TRAPS_BYTES_MAX)};
}

void state_done(struct state *st)
{
	buf_done(&st->text);
	buf_done(&st->resume);
	buf_done(&st->prefix);
	buf_done(&st->params);
	buf_done(&st->on_exit);
}

/* Return the end of the statement at @at, which is after the first newline outside of quotes. */
static const char *statement_end(const char *at, const char *end)
{
	char quote = '\0';
	for (; at < end; at++) {
		bool has_escapes = quote != '\'';
		if (*at == '\\' && has_escapes && at + 1 < end)
			at++;
		else if (quote && *at == (quote == '$' ? '\'' : quote))
			quote = '\0';
		else if (!quote && *at == '\n')
			return at + 1;
		else if (!quote && *at == '$' && at + 1 < end && at[1] == '\'')
			quote = '$', at++;
		else if (!quote && (*at == '\'' || *at == '"'))
			quote = *at;
	}
	return end;
}

/* Return the name in `declare -OPTS NAME[=VALUE]`, NULL if the statement has another form. */
static const char *declared_name(const char *at, const char *end, size_t *bytes)
{
	static const char word[] = "declare -";
	*bytes = 0;
	if ((size_t)(end - at) < sizeof word || memcmp(at, word, sizeof word - 1) != 0)
		return NULL;
	const char *name = memchr(at + sizeof word - 1, ' ', (size_t)(end - at) - sizeof word + 1);
	if (!name)
		return NULL;
	for (name++; name + *bytes < end && name[*bytes] != '=' && name[*bytes] != '\n';)
		++*bytes;
	return name;
}

static int add_variables(struct buf *out, const char *at, const char *end)
{
	int r = 0;
	for (const char *next; r == 0 && at < end; at = next) {
		size_t bytes;
		next = statement_end(at, end);
		const char *name = declared_name(at, next, &bytes);
		if (name && !is_in(own_variables, ARRAY_LEN(own_variables), name, bytes))
			r = buf_append(out, at, (size_t)(next - at));
	}
	return r;
}

static bool is_key(const json_t *names, const char *name, size_t bytes)
{
	char *key = strndup(name, bytes);
	bool is_found = key && json_object_get(names, key);
	free(key);
	return is_found;
}

int state_declare(struct buf *out, const struct state *st, const json_t *names)
{
	const char *at = buf_str(&st->text), *end = at + st->variables_end;
	int r = 0;
	for (const char *next; r == 0 && at < end; at = next) {
		size_t bytes;
		next = statement_end(at, end);
		const char *name = declared_name(at, next, &bytes);
		if (!name || !is_key(names, name, bytes))
			continue;
		/* bash parses the value of an array only behind the plain word. */
		const char *options = at + strlen("declare ");
		bool is_array = options[1] == 'a' || options[1] == 'A';
		r = buf_add(out, is_array ? "declare -g " : "\\builtin declare -g ");
		r = r ? r : buf_append(out, options, (size_t)(next - options));
	}
	return r;
}

/*
 * Append the statements `declare -f[rtx] NAME`, which give a function an attribute (r, t or x). A
 * statement without such a letter only says that the function exists, and is dropped.
 */
static int add_marks(struct buf *out, const char *at, const char *end)
{
	int r = 0;
	for (const char *next; r == 0 && at < end; at = next) {
		next = statement_end(at, end);
		if (next - at > 11 && memcmp(at, "declare -f", 10) == 0 && at[10] != ' ')
			r = buf_append(out, at, (size_t)(next - at));
	}
	return r;
}

int state_quote(struct buf *out, const char *text, size_t bytes)
{
	int r = buf_add(out, "'");
	for (size_t i = 0; r == 0 && i < bytes; i++)
		r = text[i] == '\'' ? buf_add(out, "'\\''") : buf_append(out, text + i, 1);
	return r ? r : buf_add(out, "'");
}

/* ---- traps ---- */

/* Return whether the statement from @at to @next is `trap -- 'WORD' @name`. */
static bool is_trap_of(const char *at, const char *next, const char *name)
{
	size_t n = strlen(name);
	return (size_t)(next - at) > n + 10 && next[-1] == '\n' && next[-2 - (ptrdiff_t)n] == ' ' &&
		memcmp(next - 1 - n, name, n) == 0;
}

/* Append a `trap` statement in one line: each newline within its quotes becomes $'\n'. */
static int add_one_line(struct buf *out, const char *at, const char *next)
{
	int r = buf_add(out, "\\builtin ");
	for (; r == 0 && at < next - 1; at++)
		r = *at == '\n' ? buf_add(out, "'$'\\n''") : buf_append(out, at, 1);
	return r ? r : buf_add(out, ";");
}

/* Extract the user's part of the EXIT trap into @st->on_exit. */
static int take_exit_trap(struct state *st, const char *at, const char *next, const char *hook)
{
	static const size_t head = sizeof "trap -- " - 1, tail = sizeof " EXIT\n" - 1;
	const char *word = at + head;
	size_t bytes = (size_t)(next - at) - head - tail, n = strlen(hook) - 1;
	buf_clear(&st->on_exit);
	if (bytes <= n || memcmp(word, hook, n) != 0)
		return buf_append(&st->on_exit, word, bytes);
	if (bytes <= n + 1)
		return 0;
	int r = buf_add(&st->on_exit, "'");
	return r ? r : buf_append(&st->on_exit, word + n, bytes - n);
}

static int take_traps(struct state *st, const struct buf *traps, const char *hook)
{
	const char *at = buf_str(traps), *end = at + traps->bytes;
	int r = 0;
	for (const char *next; r == 0 && at < end; at = next) {
		next = statement_end(at, end);
		if ((size_t)(next - at) < sizeof "trap -- '' X" || memcmp(at, "trap -- '", 9) != 0)
			continue;
		if (is_trap_of(at, next, "EXIT"))
			r = take_exit_trap(st, at, next, hook);
		else {
			r = buf_append(&st->text, at, (size_t)(next - at));
			if (r == 0 &&
				(is_trap_of(at, next, "DEBUG") || is_trap_of(at, next, "RETURN")))
				r = add_one_line(&st->prefix, at, next);
		}
	}
	return r;
}

static int add_exit_trap(struct buf *out, const struct state *st, const char *hook)
{
	const char *theirs = buf_str(&st->on_exit);
	return buf_addf(out, "\\builtin trap -- %s%s EXIT\n", hook, theirs);
}

/* ---- options ---- */

static bool is_on(const char *options, size_t bytes, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i + n <= bytes; i++)
		if ((i == 0 || options[i - 1] == ':') && memcmp(options + i, name, n) == 0 &&
			(i + n == bytes || options[i + n] == ':'))
			return true;
	return false;
}

/*
 * Append the options of `set -o` that differ from those of a new shell. Options that are set aside
 * between steps are also appended to @st->resume or @st->prefix, which switch them on again.
 */
static int add_set_options(struct state *st, const char *options, size_t bytes)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(set_options); i++) {
		const char *name = set_options[i].name;
		bool on = is_on(options, bytes, name);
		if (on != set_options[i].is_default)
			r = buf_addf(&st->text, "builtin set %co %s\n", on ? '-' : '+', name);
		if (r < 0 || !on || !set_options[i].is_aside)
			continue;
		/*
		 * These options would print or end commands of the driver. So @prefix switches them
		 * on, right before the user's code.
		 */
		bool is_late = strcmp(name, "xtrace") == 0 || strcmp(name, "verbose") == 0 ||
			strcmp(name, "errexit") == 0 || strcmp(name, "posix") == 0;
		r = is_late ? buf_addf(&st->prefix, "\\builtin set -o %s;", name)
			    : buf_addf(&st->resume, "\\builtin set -o %s\n", name);
	}
	return r;
}

static int add_shopts(struct buf *out, const char *options, size_t bytes)
{
	int r = buf_addf(out, "builtin shopt -u %s\nbuiltin shopt -s", default_shopts);
	for (size_t at = 0; r == 0 && at < bytes;) {
		const char *name = options + at;
		const char *colon = memchr(name, ':', bytes - at);
		size_t n = colon ? (size_t)(colon - name) : bytes - at;
		bool is_set = is_in(not_restored, ARRAY_LEN(not_restored), name, n);
		for (size_t i = 0; i < ARRAY_LEN(set_options); i++)
			is_set |= is_in(&set_options[i].name, 1, name, n);
		for (size_t i = 0; i < n; i++)
			is_set |= !((name[i] >= 'a' && name[i] <= 'z') || name[i] == '_' ||
				(name[i] >= '0' && name[i] <= '9'));
		if (!is_set && n > 0)
			r = buf_addf(out, " %.*s", (int)n, name);
		at += n + 1;
	}
	return r ? r : buf_add(out, "\n");
}

static int take_options(struct state *st, const char *options, size_t bytes)
{
	int r = add_shopts(&st->text, options, bytes);
	st->has_aliases = is_on(options, bytes, "expand_aliases");
	if (r == 0 && is_on(options, bytes, "extdebug"))
		r = buf_add(&st->prefix, "\\builtin shopt -s extdebug;");
	r = r ? r : add_set_options(st, options, bytes);
	bool is_strict = is_on(options, bytes, "errexit");
	r = r ? r : buf_addf(&st->resume, "\\builtin return %d\n", is_strict ? 0 : st->status);
	return r || is_strict ? r : buf_addf(&st->text, "builtin return %d\n", st->status);
}

/* ---- composing the state ---- */

struct parts {
	const char *at[N_PARTS];
	size_t bytes[N_PARTS];
};

static int compose(struct state *st, const struct parts *p, const struct buf *traps,
	const struct buf *limits, const char *hook)
{
	const char *const *at = p->at;
	const size_t *bytes = p->bytes;
	size_t cwd_bytes = bytes[CWD] - (bytes[CWD] > 0); /* without its newline */
	int r = buf_add(&st->text, "builtin cd -- ");
	r = r ? r : state_quote(&st->text, at[CWD], cwd_bytes);
	r = r ? r : buf_add(&st->text, "\nbuiltin unset OLDPWD\nbuiltin shopt -s extglob\n");
	r = r ? r : buf_append(&st->text, at[UMASK], bytes[UMASK]);
	r = r ? r : add_variables(&st->text, at[VARIABLES], at[VARIABLES] + bytes[VARIABLES]);
	st->variables_end = st->text.bytes;
	r = r ? r : buf_append(&st->text, at[FUNCTIONS], bytes[FUNCTIONS]);
	r = r ? r : add_marks(&st->text, at[MARKS], at[MARKS] + bytes[MARKS]);
	r = r ? r : buf_append(&st->text, at[ALIASES], bytes[ALIASES]);
	if (r == 0 && bytes[PARAMS] > 0) {
		buf_clear(&st->params);
		r = buf_append(&st->params, at[PARAMS], bytes[PARAMS]);
	}
	r = r ? r : buf_append(&st->text, buf_str(&st->params), st->params.bytes);
	r = r ? r : take_traps(st, traps, hook);
	r = r ? r : add_exit_trap(&st->resume, st, hook);
	if (r == 0 && st->on_exit.bytes > 0)
		r = buf_addf(&st->text, "trap -- %s EXIT\n", buf_str(&st->on_exit));
	/*
	 * Append the limits last: under a low memory limit, the shell might fail to run the other
	 * commands.
	 */
	r = r ? r : buf_append(&st->text, buf_str(limits), limits->bytes);
	return r ? r : take_options(st, at[OPTIONS], bytes[OPTIONS]);
}

static int split(struct parts *p, const struct buf *report)
{
	const char *at = buf_str(report), *end = at + report->bytes;
	for (int i = 0; i < N_PARTS; i++) {
		const char *nul = memchr(at, '\0', (size_t)(end - at));
		if (!nul)
			return i == 0 ? -EBADMSG : -EMSGSIZE;
		p->at[i] = at;
		p->bytes[i] = (size_t)(nul - at);
		at = nul + 1;
	}
	return p->bytes[END] == 3 && memcmp(p->at[END], "end", 3) == 0 ? 0 : -EMSGSIZE;
}

/* Parse the exit status in the first part, which is "STATUS:OPTIONS". */
static int take_status(struct state *st, struct parts *p)
{
	const char *at = p->at[OPTIONS];
	size_t n = strspn(at, "0123456789");
	if (n < 1 || n > 3 || n == p->bytes[OPTIONS] || at[n] != ':')
		return -EBADMSG;
	st->status = atoi(at) & 0xff;
	p->at[OPTIONS] += n + 1;
	p->bytes[OPTIONS] -= n + 1;
	return 0;
}

int state_take(struct state *st, const struct buf *report, const struct buf *traps,
	const struct buf *limits, const char *exit_hook)
{
	struct parts p = {0};
	struct state was = *st;
	int whole = split(&p, report);
	if (!p.at[0] || take_status(st, &p) < 0)
		return -EBADMSG;
	if (whole < 0)
		return whole;
	was.status = st->status;
	state_init(st);
	int r = buf_append(&st->params, buf_str(&was.params), was.params.bytes);
	r = r ? r : buf_append(&st->on_exit, buf_str(&was.on_exit), was.on_exit.bytes);
	st->status = was.status;
	r = r ? r : compose(st, &p, traps, limits, exit_hook);
	struct state old = r < 0 ? *st : was;
	if (r < 0)
		*st = was;
	state_done(&old);
	return r < 0 ? -EMSGSIZE : 0;
}

/* ---- encoding as a JSON string ---- */

static size_t encoded_bytes(const char *at, const char *end)
{
	size_t n = 0;
	for (; at < end; at++)
		n += (unsigned char)*at < 0x80 ? 1 : 2;
	return n;
}

/*
 * Return the size of the largest variable that is smaller than @under. Set *@left to the size of
 * the script without this variable and all that are at least as large.
 * Functions are never left out, because only a shell could tell where each of them ends. All sizes
 * are those of the encoded text.
 */
static size_t largest(const struct state *st, size_t under, size_t *left)
{
	const char *at = buf_str(&st->text), *end = at + st->variables_end;
	size_t most = 0, sum = 0;
	for (int pass = 0; pass < 2; pass++)
		for (const char *next, *from = at; from < end; from = next) {
			next = statement_end(from, end);
			size_t n = encoded_bytes(from, next);
			if (pass == 0)
				most = n < under && n > most ? n : most;
			else
				sum += n < most ? n : 0;
		}
	*left = sum + encoded_bytes(end, at + st->text.bytes);
	return most;
}

static int encode(struct buf *out, const char *at, const char *next)
{
	int r = 0;
	for (; r == 0 && at < next; at++) {
		unsigned char c = (unsigned char)*at;
		const char two[2] = {(char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f))};
		r = c < 0x80 ? buf_append(out, at, 1) : buf_append(out, two, 2);
	}
	return r;
}

int state_encode(struct buf *out, const struct state *st, size_t *n_omitted)
{
	const char *at = buf_str(&st->text), *variables = at + st->variables_end;
	size_t left = encoded_bytes(at, at + st->text.bytes), limit = SIZE_MAX;
	*n_omitted = 0;
	while (left > STATE_BYTES_MAX && limit > 64)
		limit = largest(st, limit, &left);
	if (left > STATE_BYTES_MAX)
		return -E2BIG;
	int r = 0;
	for (const char *next; r == 0 && at < variables; at = next) {
		next = statement_end(at, variables);
		if (encoded_bytes(at, next) < limit)
			r = encode(out, at, next);
		else
			++*n_omitted;
	}
	return r ? r : encode(out, variables, buf_str(&st->text) + st->text.bytes);
}

int state_decode(struct buf *out, const char *text, size_t bytes)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == 0 || c > 0xc3 || (c >= 0x80 && (c < 0xc2 || i + 1 == bytes)))
			return -EINVAL;
		if (c >= 0x80)
			c = (unsigned char)((c & 0x03) << 6 | ((unsigned char)text[++i] & 0x3f));
		r = buf_append(out, &c, 1);
	}
	return r;
}
