/* SPDX-License-Identifier: Apache-2.0 */
#include "image/reference.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char hub[] = "docker.io", library[] = "library/";

enum { SHOWN = 80 };

static int fail(struct err *err, const char *text, const char *hint)
{
	return err_fail(err, ERR_USAGE, hint, "\"%.*s\" is no name of an image", SHOWN, text);
}

/* Copy @bytes of @text. Returns: whether there is room. */
static bool copy(char *out, size_t room, const char *text, size_t bytes)
{
	if (bytes >= room)
		return false;
	memcpy(out, text, bytes);
	out[bytes] = '\0';
	return true;
}

static bool is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_word(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

/* A part of a path: letters and digits, with separators between them, which are ".", "_", "__" or
 * any number of "-". */
static bool is_part(const char *text, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		size_t n = 0;
		while (at + n < bytes && !is_lower(text[at + n]))
			n++;
		bool is_dash = n > 0;
		for (size_t i = 0; i < n; i++)
			is_dash = is_dash && text[at + i] == '-';
		bool is_other = (n == 1 && (text[at] == '.' || text[at] == '_')) ||
			(n == 2 && text[at] == '_' && text[at + 1] == '_');
		bool is_inside = at > 0 && at + n < bytes;
		if (n > 0 && !(is_inside && (is_dash || is_other)))
			return false;
		at += n;
		while (at < bytes && is_lower(text[at]))
			at++;
	}
	return bytes > 0;
}

static bool is_path(const char *text)
{
	for (;;) {
		size_t n = strcspn(text, "/");
		if (!is_part(text, n))
			return false;
		if (!text[n])
			return true;
		text += n + 1;
	}
}

/* A host: names or an address, perhaps with a port. */
static bool is_host(const char *text)
{
	size_t n = strlen(text);
	const char *colon = strrchr(text, ':'), *end = strchr(text, ']');
	if (colon && colon > end) {
		size_t digits = strspn(colon + 1, "0123456789");
		if (digits == 0 || digits > 5 || colon[1 + digits] ||
			strtoul(colon + 1, NULL, 10) > UINT16_MAX)
			return false;
		n = (size_t)(colon - text);
	}
	if (text[0] == '[')
		return n > 2 && text[n - 1] == ']' &&
			strspn(text + 1, "0123456789abcdefABCDEF:.") == n - 2;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '.' && text[i] != '-')
			return false;
	return n > 0 && text[0] != '.' && text[0] != '-' && text[n - 1] != '.' &&
		text[n - 1] != '-';
}

static bool is_tag(const char *text)
{
	size_t n = 0;
	while (is_word(text[n]) || (n > 0 && (text[n] == '.' || text[n] == '-')))
		n++;
	return n > 0 && !text[n];
}

/* Return the length of the first part of a name, if it is a host; otherwise 0. */
static size_t host_bytes(const char *name)
{
	size_t n = strcspn(name, "/");
	bool is_host = name[n] &&
		(memchr(name, '.', n) || memchr(name, ':', n) ||
			(n == 9 && memcmp(name, "localhost", 9) == 0));
	return is_host ? n : 0;
}

/* Take the digest off the end of the name, whose length is *@bytes. */
static int take_digest(struct image_ref *out, const char *text, size_t *bytes, struct err *err)
{
	unsigned char raw[DIGEST_RAW_BYTES];
	const char *at = strchr(text, '@');
	if (!at)
		return 0;
	if (strncmp(at, "@sha256:", 8) != 0 || digest_read(raw, at + 8) < 0)
		return fail(err, text, "a digest is @sha256: and 64 hexadecimal digits");
	digest_write(out->digest, raw);
	*bytes = (size_t)(at - text);
	return 0;
}

int image_ref_parse(struct image_ref *out, const char *text, struct err *err)
{
	char rest[IMAGE_HOST_BYTES + IMAGE_PATH_BYTES + IMAGE_TAG_BYTES];
	size_t bytes = strlen(text);
	*out = (struct image_ref){.host = ""};
	const char *scheme = strstr(text, "://");
	if (scheme) {
		(void)fail(err, text, "");
		return err_hint(err, "write the name without %.*s",
			(int)MIN((size_t)(scheme + 3 - text), (size_t)SHOWN), text);
	}
	int r = take_digest(out, text, &bytes, err);
	if (r < 0)
		return r;
	if (!copy(rest, sizeof rest, text, bytes))
		return fail(err, text, "it is too long");
	char *colon = strrchr(rest, ':'), *path = rest;
	if (colon && !strchr(colon, '/')) {
		*colon = '\0';
		if (!is_tag(colon + 1) ||
			!copy(out->tag, sizeof out->tag, colon + 1, strlen(colon + 1)))
			return fail(
				err, text, "a tag has up to 128 letters, digits, '_', '.' and '-'");
	}
	size_t first = host_bytes(rest);
	bool has_host = first > 0;
	if (has_host) {
		path = rest + first + 1;
		rest[first] = '\0';
	}
	const char *host = !has_host || strcasecmp(rest, "index.docker.io") == 0 ? hub : rest;
	if (!is_host(host) || !copy(out->host, sizeof out->host, host, strlen(host)))
		return fail(
			err, text, "the part before the first '/' is a host, perhaps with a port");
	bool is_official = strcmp(host, hub) == 0 && !strchr(path, '/');
	int n = snprintf(out->path, sizeof out->path, "%s%s", is_official ? library : "", path);
	if (n < 0 || (size_t)n >= sizeof out->path)
		return fail(err, text, "it is too long");
	if (!is_path(out->path))
		return fail(err, text,
			"write [HOST[:PORT]/]NAME[:TAG], the name in lower-case letters, digits, '.', '_' "
			"and '-'");
	if (out->digest[0])
		out->tag[0] = '\0';
	else if (!out->tag[0])
		(void)copy(out->tag, sizeof out->tag, "latest", 6);
	return 0;
}

void image_ref_name(const struct image_ref *ref, char out[IMAGE_NAME_BYTES])
{
	snprintf(out, IMAGE_NAME_BYTES, "%s/%s%s%s", ref->host, ref->path,
		ref->digest[0] ? "@sha256:" : ":", ref->digest[0] ? ref->digest : ref->tag);
}

const char *image_ref_short(const char *name)
{
	size_t n = sizeof hub - 1;
	/* Without its host, docker.io/a.b/c would be c on the host a.b. */
	if (strncmp(name, hub, n) != 0 || name[n] != '/' || host_bytes(name + n + 1) > 0)
		return name;
	name += n + 1;
	/* docker.io/library/a/b is not the image a/b. */
	n = sizeof library - 1;
	return strncmp(name, library, n) == 0 && !strchr(name + n, '/') ? name + n : name;
}

bool image_host_is_local(const char *text)
{
	char host[IMAGE_HOST_BYTES];
	struct in_addr ip;
	const char *end = strchr(text, ']');
	size_t n = end ? (size_t)(end - text) + 1 : strcspn(text, ":");
	if (!copy(host, sizeof host, text, n))
		return false;
	return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
		(inet_pton(AF_INET, host, &ip) == 1 && ntohl(ip.s_addr) >> 24 == 127);
}
