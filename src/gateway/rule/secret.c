/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/rule/secret.h"

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/attr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_HINT  "a name has letters, digits and \"_\", and no digit first: API_KEY"
#define PLACE_HINT "HOST[:PORT][,query][,body][,like=PREFIX]: api.example,body"

/* ---- names and values ---- */

/* Names that libraries, languages and tools look at. */
static const struct {
	enum { NAME_IS, NAME_BEGINS, NAME_ENDS } how;
	const char *text;
} taken[] = {
	{NAME_IS, "PATH"},
	{NAME_IS, "HOME"},
	{NAME_IS, "SHELL"},
	{NAME_IS, "USER"},
	{NAME_IS, "LOGNAME"},
	{NAME_IS, "HOSTNAME"},
	{NAME_IS, "PWD"},
	{NAME_IS, "OLDPWD"},
	{NAME_IS, "TMPDIR"},
	{NAME_IS, "TMP"},
	{NAME_IS, "TEMP"},
	{NAME_IS, "TERM"},
	{NAME_IS, "TZ"},
	{NAME_IS, "LANG"},
	{NAME_IS, "LANGUAGE"},
	{NAME_BEGINS, "LC_"},
	{NAME_IS, "EDITOR"},
	{NAME_IS, "VISUAL"},
	{NAME_IS, "PAGER"},
	{NAME_IS, "BROWSER"},
	/* shells */
	{NAME_IS, "_"},
	{NAME_IS, "IFS"},
	{NAME_IS, "ENV"},
	{NAME_IS, "CDPATH"},
	{NAME_IS, "SHLVL"},
	{NAME_IS, "SHELLOPTS"},
	{NAME_IS, "POSIXLY_CORRECT"},
	{NAME_IS, "PROMPT_COMMAND"},
	{NAME_BEGINS, "BASH"},
	/* the loader and libc */
	{NAME_BEGINS, "LD_"},
	{NAME_BEGINS, "DYLD_"},
	{NAME_BEGINS, "GLIBC_"},
	{NAME_BEGINS, "MALLOC_"},
	{NAME_IS, "GCONV_PATH"},
	{NAME_IS, "LOCPATH"},
	{NAME_IS, "NLSPATH"},
	{NAME_IS, "HOSTALIASES"},
	{NAME_IS, "LOCALDOMAIN"},
	{NAME_IS, "RES_OPTIONS"},
	/* languages */
	{NAME_BEGINS, "PYTHON"},
	{NAME_BEGINS, "NODE_"},
	{NAME_BEGINS, "PERL5"},
	{NAME_IS, "PERLLIB"},
	{NAME_IS, "RUBYOPT"},
	{NAME_IS, "RUBYLIB"},
	{NAME_IS, "CLASSPATH"},
	{NAME_IS, "JAVA_HOME"},
	{NAME_IS, "JAVA_TOOL_OPTIONS"},
	{NAME_IS, "VIRTUAL_ENV"},
	/* git and TLS */
	{NAME_BEGINS, "GIT_"},
	{NAME_BEGINS, "SSL_"},
	{NAME_BEGINS, "OPENSSL_"},
	{NAME_ENDS, "_CA_BUNDLE"},
	{NAME_ENDS, "_PROXY"},
	{NAME_BEGINS, "XDG_"},
	{NAME_BEGINS, "RETORT_"},
};

/* NODE_AUTH_TOKEN and the like are what secrets are for. */
static bool is_credential(const char *name, size_t bytes)
{
	static const char *const ends[] = {"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"};
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t n = strlen(ends[i]);
		if (n < bytes && memcmp(name + bytes - n, ends[i], n) == 0)
			return true;
	}
	return false;
}

static bool is_taken(const char *name)
{
	size_t bytes = strlen(name);
	if (is_credential(name, bytes))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		const char *text = taken[i].text;
		size_t n = strlen(text);
		if (n > bytes || (taken[i].how == NAME_IS && n != bytes))
			continue;
		/* http_proxy is read as HTTP_PROXY is. */
		if (taken[i].how == NAME_ENDS ? strcasecmp(name + bytes - n, text) == 0
					      : memcmp(name, text, n) == 0)
			return true;
	}
	return false;
}

int secret_check_name(const char *name, struct err *err)
{
	size_t bytes = strlen(name), n = 0;
	while (ascii_is_name((unsigned char)name[n]))
		n++;
	/* What is no name is not shown: it could be a value that somebody put there. */
	if (bytes == 0)
		return err_fail(err, ERR_USAGE, NAME_HINT, "the name of a secret is empty");
	if (n < bytes)
		return err_fail(err, ERR_USAGE, NAME_HINT,
			"the name of a secret has bytes that no name has");
	if (ascii_is_digit((unsigned char)name[0]))
		return err_fail(
			err, ERR_USAGE, NAME_HINT, "the name of a secret begins with a digit");
	if (bytes >= SECRET_NAME_BYTES)
		return err_fail(err, ERR_USAGE, "a name has at most 64 letters",
			"the name of a secret is too long");
	if (is_taken(name))
		return err_fail(err, ERR_USAGE,
			"choose a name that only your program reads, such as API_KEY",
			"the secret %s: a variable of this name changes how programs run", name);
	return 0;
}

static int bad_value(struct err *err, const char *name, const char *problem, const char *hint)
{
	return err_fail(
		err, ERR_USAGE, hint, "the secret %.*s %s", SECRET_NAME_BYTES - 1, name, problem);
}

static bool is_break(char c)
{
	return c == '\n' || c == '\r';
}

/* What stands in no header. */
static int check_letters(const char *name, const char *value, size_t bytes, struct err *err)
{
	static const char hint[] = "a value is printable ASCII, because headers are";
	size_t breaks = 0;
	while (breaks < bytes && is_break(value[bytes - 1 - breaks]))
		breaks++;
	for (size_t i = 0; i < bytes - breaks; i++) {
		unsigned char c = (unsigned char)value[i];
		if (is_break(value[i]))
			return bad_value(err, name, "has a line break",
				"a value is one line, because headers are");
		if (c < ' ' || c == 0x7f)
			return bad_value(err, name, "has a control character", hint);
		if (c > 0x7f)
			return bad_value(err, name, "has bytes that are not ASCII", hint);
	}
	if (breaks > 0)
		return bad_value(err, name, "has a line break at its end",
			"leave it out: only the command line does that itself, for a file");
	return 0;
}

int secret_check_value(const char *name, const char *value, size_t bytes, struct err *err)
{
	if (bytes == 0)
		return bad_value(err, name, "is empty", "give it a value, or leave it out");
	if (bytes > SECRET_VALUE_MAX)
		return bad_value(err, name, "is too long", "a value has at most 8192 bytes");
	int n = check_letters(name, value, bytes, err);
	if (n == 0 && bytes < SECRET_VALUE_MIN)
		n = bad_value(err, name, "is too short",
			"a value has at least 8 bytes: answers may have a shorter one by chance");
	return n;
}

/* ---- places ---- */

struct place {
	char host[RULE_HOST_BYTES], prefix[SECRET_PREFIX_BYTES];
	uint16_t port;
	unsigned places;
};

/* The text is not shown: it could be a value that somebody put there. */
static int bad(struct err *err, const char *problem, const char *hint)
{
	return err_fail(err, ERR_USAGE, hint, "%s", problem);
}

/* What no place has, wherever it stands. */
static int check_bytes(const char *text, struct err *err)
{
	for (const char *s = text; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c >= 0x80)
			return bad(err, "it has letters that are not ASCII",
				"write the name as DNS has it: xn--bcher-kva.example");
		if (c <= ' ' || c == 0x7f)
			return bad(err, "it has a space", PLACE_HINT);
	}
	return 0;
}

/* What no host has, in the order in which it is looked for. */
static const struct {
	const char *part, *problem, *hint;
} no_host[] = {
	{"://", "a place names a host, not a URL", PLACE_HINT},
	{"@", "a place names no user", PLACE_HINT},
	{"=", "\"=\" stands in like=PREFIX only", PLACE_HINT},
	{"*", "a place names one host, without \"*\"", "one secret for each host"},
	{"/", "a place has no path", "a secret goes to a host, whatever the path"},
	{"[", "an address is no name of a host", "name the host: api.example:443"},
};

/* Names that rule_name() takes. */
static int check_host(const char *host, struct err *err)
{
	if (strcmp(host, "any") == 0 || strcmp(host, "none") == 0)
		return bad(err, "\"any\" and \"none\" are no hosts",
			"a secret goes to one host: api.example");
	if (rule_name_is_local(host))
		return bad(err, "localhost is the sandbox itself",
			"give the host's service another name: --net db:5432=127.0.0.1:5432");
	return 0;
}

/* HOST[:PORT]. */
static int read_host(struct place *p, const char *text, size_t bytes, struct err *err)
{
	const char *port = memchr(text, ':', bytes);
	size_t host = port ? (size_t)(port - text) : bytes;
	size_t rest = port ? bytes - host - 1 : 0;
	for (size_t i = 0; i < ARRAY_LEN(no_host); i++) {
		const char *part = strstr(text, no_host[i].part);
		if (part && part < text + bytes)
			return bad(err, no_host[i].problem, no_host[i].hint);
	}
	if (host == 0)
		return bad(err, "it names no host", PLACE_HINT);
	if (port && memchr(port + 1, ':', rest))
		return bad(err, "it has more than one port",
			"name the host, with one port: api.example:443");
	if (port && !rule_port(&p->port, port + 1, rest))
		return bad(err, "what follows \":\" is no port",
			"ports go from 1 to 65535; without one, 443 is meant");
	if (host - (text[host - 1] == '.') >= RULE_HOST_BYTES)
		return bad(err, "the name is too long", "a name has at most 253 letters");
	if (text[0] == '-' || !rule_name(p->host, text, host))
		return bad(err, "this is no name of a host",
			"a name has letters, digits, \"-\" and \"_\", and is no address: "
			"api.example");
	return check_host(p->host, err);
}

static bool is_in_prefix(char c)
{
	return ascii_is_name((unsigned char)c) || c == '-' || c == '.';
}

static int read_prefix(struct place *p, const char *text, size_t bytes, struct err *err)
{
	static const char hint[] = "a prefix has up to 32 letters, digits, \"-\", \"_\" and \".\": "
				   "like=sk-";
	if (p->prefix[0])
		return bad(err, "the prefix is there twice", "like= once");
	if (bytes == 0)
		return bad(err, "the prefix is empty", hint);
	if (bytes >= SECRET_PREFIX_BYTES)
		return bad(err, "the prefix is too long", hint);
	for (size_t i = 0; i < bytes; i++)
		if (!is_in_prefix(text[i]))
			return bad(err, "the prefix has bytes that no prefix has", hint);
	memcpy(p->prefix, text, bytes);
	p->prefix[bytes] = '\0';
	return 0;
}

static const struct {
	const char *word;
	unsigned place;
} options[] = {{"query", SECRET_IN_QUERY}, {"body", SECRET_IN_BODY}};

static int read_option(struct place *p, const char *text, size_t bytes, struct err *err)
{
	static const char like[] = "like=";
	if (bytes >= sizeof like - 1 && memcmp(text, like, sizeof like - 1) == 0)
		return read_prefix(p, text + sizeof like - 1, bytes - (sizeof like - 1), err);
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		if (bytes != strlen(options[i].word) || memcmp(text, options[i].word, bytes) != 0)
			continue;
		if (p->places & options[i].place)
			return bad(err, "an option is there twice", PLACE_HINT);
		p->places |= options[i].place;
		return 0;
	}
	return bad(err, "what follows a comma is no option",
		"the options are query, body and like=PREFIX");
}

int secret_read_place(
	struct secret *out, char prefix[SECRET_PREFIX_BYTES], const char *text, struct err *err)
{
	struct place p = {.port = RULE_PORT_HTTPS};
	size_t bytes = strcspn(text, ",");
	int n = check_bytes(text, err);
	if (n == 0)
		n = read_host(&p, text, bytes, err);
	while (n == 0 && text[bytes]) {
		text += bytes + 1;
		bytes = strcspn(text, ",");
		n = read_option(&p, text, bytes, err);
	}
	if (n < 0)
		return n;
	memcpy(out->host, p.host, sizeof p.host);
	memcpy(prefix, p.prefix, sizeof p.prefix);
	out->port = p.port;
	out->places = p.places;
	return 0;
}

void secret_write_place(const struct secret *s, char out[SECRET_PLACE_BYTES])
{
	char port[8] = "";
	if (s->port != RULE_PORT_HTTPS)
		(void)snprintf(port, sizeof port, ":%u", s->port);
	(void)snprintf(out, SECRET_PLACE_BYTES, "%s%s%s%s", s->host, port,
		s->places & SECRET_IN_QUERY ? ",query" : "",
		s->places & SECRET_IN_BODY ? ",body" : "");
}

bool secret_is_placeholder(const char *text)
{
	size_t bytes = strlen(text);
	if (bytes < SECRET_RANDOM_BYTES || bytes >= SECRET_PLACEHOLDER_BYTES)
		return false;
	for (size_t i = 0; i < bytes - SECRET_RANDOM_BYTES; i++)
		if (!is_in_prefix(text[i]))
			return false;
	for (size_t i = bytes - SECRET_RANDOM_BYTES; i < bytes; i++)
		if (!ascii_is_digit((unsigned char)text[i]) && !(text[i] >= 'a' && text[i] <= 'z'))
			return false;
	return true;
}

/* ---- all of a box ---- */

struct secret *secrets_find(struct secrets *all, const char *name)
{
	for (size_t i = 0; i < all->n; i++)
		if (strcmp(all->v[i].name, name) == 0)
			return &all->v[i];
	return NULL;
}

void secrets_copy(struct secrets *out, const struct secrets *from, bool has_values)
{
	*out = *from;
	for (size_t i = 0; i < out->n; i++) {
		const char *value = has_values ? from->v[i].value : NULL;
		out->v[i].value = value ? xstrdup(value) : NULL;
	}
}

static void wipe(char *value)
{
	if (value)
		explicit_bzero(value, strlen(value));
	free(value);
}

void secret_set_value(struct secret *s, const char *value)
{
	char *before = s->value;
	s->value = xstrdup(value);
	wipe(before);
}

void secrets_done(struct secrets *all)
{
	for (size_t i = 0; i < all->n; i++)
		wipe(all->v[i].value);
	*all = (struct secrets){0};
}
