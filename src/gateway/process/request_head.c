/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "gateway/process/request_head.h"

#include "base/ascii.h"
#include "base/attr.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* A piece of the head. */
struct span {
	const char *p;
	size_t n;
};

static bool is_token(unsigned char c)
{
	return ascii_is_letter(c) || ascii_is_digit(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool span_is(struct span s, const char *text)
{
	return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

/* Return what stands before the first byte of @stops, and leave in *@s what stands from there on.
 */
static struct span cut(struct span *s, const char *stops)
{
	struct span before = {s->p, 0};
	while (before.n < s->n && !(s->p[before.n] && strchr(stops, s->p[before.n])))
		before.n++;
	*s = (struct span){s->p + before.n, s->n - before.n};
	return before;
}

static void skip(struct span *s, size_t n)
{
	*s = (struct span){s->p + n, s->n - n};
}

/* HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT. */
static bool read_authority(struct request_head *out, struct span s)
{
	char text[IP_TEXT_BYTES];
	struct ip ip;
	bool is_v6 = s.n > 0 && s.p[0] == '[';
	if (is_v6)
		skip(&s, 1);
	struct span host = cut(&s, is_v6 ? "]" : ":");
	if (is_v6 && s.n == 0)
		return false;
	if (is_v6)
		skip(&s, 1);
	size_t n = MIN(host.n, sizeof text - 1);
	memcpy(text, host.p, n);
	text[n] = '\0';
	if (n == host.n && strlen(text) == n && ip_parse(&ip, text) &&
		is_v6 == (strchr(text, ':') != NULL))
		ip_write(&ip, out->host);
	else if (is_v6 || !rule_name(out->host, host.p, host.n))
		return false;
	out->port = 0;
	return s.n == 0 || (s.p[0] == ':' && rule_port(&out->port, s.p + 1, s.n - 1));
}

/* A target with a scheme; others but "*" and paths are refused. @out->host is "" if it has none. */
static bool read_target(struct request_head *out, struct span target)
{
	static const char *const schemes[] = {"http://", "https://"};
	if (target.n > 0 && target.p[0] == '/')
		return true;
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		size_t n = strlen(schemes[i]);
		if (target.n < n || strncasecmp(target.p, schemes[i], n) != 0)
			continue;
		skip(&target, n);
		return read_authority(out, cut(&target, "/?#"));
	}
	return span_is(target, "*");
}

/* Set *@minor to the digit behind "HTTP/1.". */
static bool read_request_line(struct request_head *out, struct span line, char *minor)
{
	struct span method = cut(&line, " ");
	if (line.n == 0 || method.n == 0 || span_is(method, "CONNECT"))
		return false;
	for (size_t i = 0; i < method.n; i++)
		if (!is_token((unsigned char)method.p[i]))
			return false;
	skip(&line, 1);
	struct span target = cut(&line, " \t");
	if (!span_is(line, " HTTP/1.0") && !span_is(line, " HTTP/1.1"))
		return false;
	*minor = line.p[line.n - 1];
	return read_target(out, target);
}

static bool read_host(struct request_head *out, struct span value)
{
	while (value.n > 0 && ascii_is_blank(value.p[0]))
		skip(&value, 1);
	while (value.n > 0 && ascii_is_blank(value.p[value.n - 1]))
		value.n--;
	return read_authority(out, value);
}

static bool read_field(struct request_head *out, struct span line, bool *has_host)
{
	struct span name = cut(&line, ":");
	if (line.n == 0 || name.n == 0)
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (!is_token((unsigned char)name.p[i]))
			return false;
	if (name.n != 4 || strncasecmp(name.p, "Host", 4) != 0)
		return true;
	if (*has_host)
		return false;
	*has_host = true;
	skip(&line, 1);
	return read_host(out, line);
}

/* Take a line that ends with CR LF and has no other control character than the tab. */
static bool take_line(struct span *head, struct span *line)
{
	*line = cut(head, "\n");
	if (head->n == 0 || line->n == 0 || line->p[line->n - 1] != '\r')
		return false;
	skip(head, 1);
	line->n--;
	for (size_t i = 0; i < line->n; i++) {
		unsigned char c = (unsigned char)line->p[i];
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/* @head: the whole head, with its empty line. */
static bool read_head(struct request_head *out, struct span head)
{
	struct request_head of_target = {0}, of_host = {0};
	struct span line;
	bool has_host = false;
	char minor = '0';
	if (!take_line(&head, &line) || !read_request_line(&of_target, line, &minor))
		return false;
	for (;;) {
		if (!take_line(&head, &line))
			return false;
		if (line.n == 0)
			break;
		if (!read_field(&of_host, line, &has_host))
			return false;
	}
	if (!has_host && minor != '0')
		return false;
	*out = has_host ? of_host : of_target;
	bool has_both = has_host && of_target.host[0];
	return !has_both ||
		(strcmp(of_host.host, of_target.host) == 0 && of_host.port == of_target.port);
}

/* Whether it looks like a method that is in use. */
static bool is_method(struct span s)
{
	size_t n = 0;
	while (n < s.n && s.p[n] >= 'A' && s.p[n] <= 'Z')
		n++;
	return n == s.n;
}

/*
 * Look at the first line, as the most lenient of servers would.
 * Returns: REQUEST_HEAD_HTTP1 if it has "HTTP/" behind its first word.
 */
static enum request_head_verdict look_at_line(struct span s)
{
	while (s.n > 0 && ascii_is_space((unsigned char)s.p[0]))
		skip(&s, 1);
	size_t n = 0;
	while (n < s.n && is_token((unsigned char)s.p[n]))
		n++;
	if (n == s.n)
		return REQUEST_HEAD_MORE;
	if (n == 0 || !ascii_is_space((unsigned char)s.p[n]))
		return REQUEST_HEAD_NOT_HTTP;
	const char *end = memchr(s.p, '\n', s.n);
	/* In no HTTP, but git's own protocol has it in its first line, which has no end. */
	if (memchr(s.p, '\0', end ? (size_t)(end - s.p) : s.n))
		return is_method((struct span){s.p, n}) ? REQUEST_HEAD_BAD : REQUEST_HEAD_NOT_HTTP;
	if (!end)
		return REQUEST_HEAD_MORE;
	struct span line = {s.p, (size_t)(end + 1 - s.p)};
	if (span_is(line, "PRI * HTTP/2.0\r\n"))
		return REQUEST_HEAD_HTTP2;
	/* HTTP/0.9 has no version and no Host, but some servers take the host of the target. */
	bool may_be_0_9 = n == 3 && strncasecmp(line.p, "GET", 3) == 0;
	bool has_host = memmem(line.p, line.n, "://", 3) != NULL;
	for (; n + 5 <= line.n; n++)
		if (strncasecmp(line.p + n, "HTTP/", 5) == 0)
			return REQUEST_HEAD_HTTP1;
	return may_be_0_9 && has_host ? REQUEST_HEAD_BAD : REQUEST_HEAD_NOT_HTTP;
}

/* Return the length of the head, to the end of its first empty line, even one that ends without CR;
 * or 0. */
static size_t head_bytes(struct span s)
{
	for (const char *p = s.p; (p = memchr(p, '\n', (size_t)(s.p + s.n - p)));) {
		size_t left = (size_t)(s.p + s.n - ++p);
		if (left >= 1 && p[0] == '\n')
			return (size_t)(p + 1 - s.p);
		if (left >= 2 && p[0] == '\r' && p[1] == '\n')
			return (size_t)(p + 2 - s.p);
	}
	return 0;
}

enum request_head_verdict request_head_read(
	struct request_head *out, const uint8_t *data, size_t bytes)
{
	struct span s = {(const char *)data, MIN(bytes, REQUEST_HEAD_BYTES)};
	struct request_head head = {0};
	enum request_head_verdict verdict = look_at_line(s);
	if (verdict == REQUEST_HEAD_HTTP1) {
		head.bytes = head_bytes(s);
		verdict = head.bytes > 0 ? REQUEST_HEAD_HTTP1 : REQUEST_HEAD_MORE;
	}
	if (verdict == REQUEST_HEAD_MORE && bytes >= REQUEST_HEAD_BYTES)
		return REQUEST_HEAD_BAD;
	if (verdict != REQUEST_HEAD_HTTP1)
		return verdict;
	s.n = head.bytes;
	if (!read_head(&head, s))
		return REQUEST_HEAD_BAD;
	head.bytes = s.n;
	*out = head;
	return REQUEST_HEAD_HTTP1;
}
