/* SPDX-License-Identifier: Apache-2.0 */
#include "session/port/place.h"

#include "base/num.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

enum { HOST_BYTES = 64 };
#define PLACE_HINT "write PORT, HOST:PORT or [HOST]:PORT, such as 127.0.0.1:8080"

static int bad(const char *text, struct err *err)
{
	return err_fail(err, ERR_USAGE, PLACE_HINT, "%.100s is not an address and port", text);
}

static int parse_port(const char *text, uint16_t least, uint16_t *out, struct err *err)
{
	struct num_range range = {least, UINT16_MAX};
	uint64_t value;
	int r = num_parse_count(text, range, &value, err);
	if (r == 0)
		*out = (uint16_t)value;
	return r;
}

static int set(struct place *out, const char *host, uint16_t port, struct err *err)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	*out = (struct place){0};
	if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
		memcpy(&out->address, &v4, sizeof v4);
		out->address_bytes = sizeof v4;
	} else if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
		memcpy(&out->address, &v6, sizeof v6);
		out->address_bytes = sizeof v6;
	} else {
		return err_fail(err, ERR_USAGE, "give its number, such as 127.0.0.1 or 0.0.0.0",
			"%.64s is not an address of this host", host);
	}
	return 0;
}

int place_parse(struct place *out, const char *text, struct err *err)
{
	char host[HOST_BYTES] = "127.0.0.1";
	struct place made;
	uint16_t number = 0;
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
	const char *begin = text, *end = colon ? colon : text;
	if (end > begin && *begin == '[' && end[-1] == ']') {
		begin++;
		end--;
	} else if (memchr(begin, ':', (size_t)(end - begin))) {
		return bad(text, err); /* an address of IPv6 without brackets */
	}
	size_t bytes = (size_t)(end - begin);
	if ((colon && bytes == 0) || bytes >= sizeof host)
		return bad(text, err);
	if (bytes > 0 && !(bytes == 9 && strncmp(begin, "localhost", bytes) == 0)) {
		memcpy(host, begin, bytes);
		host[bytes] = '\0';
	}
	if (parse_port(port, 0, &number, err) < 0)
		return bad(text, err);
	int r = set(&made, host, number, err);
	if (r == 0)
		*out = made;
	return r;
}

int place_parse_option(struct place *out, uint16_t *box_port, const char *text, struct err *err)
{
	char rest[PLACE_TEXT_BYTES];
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
	uint16_t number = 0;
	size_t bytes = colon ? (size_t)(colon - text) : strlen(text);
	if (parse_port(port, 1, &number, err) < 0 || bytes >= sizeof rest)
		return err_fail(err, ERR_USAGE,
			"write [HOST:]HP:BP, such as 8080:80: port HP of the host leads to port BP "
			"of the box",
			"-p %.100s: no port of the box", text);
	memcpy(rest, text, bytes);
	rest[bytes] = '\0';
	int r = place_parse(out, rest, err);
	if (r == 0)
		*box_port = number;
	return r;
}

int place_of_path(struct place *out, const char *path, struct err *err)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	size_t bytes = strlen(path);
	if (bytes >= sizeof at.sun_path)
		return err_fail(err, ERR_USAGE, "choose a shorter XDG_RUNTIME_DIR",
			"socket path of %zu bytes, limit %zu: %.100s", bytes,
			sizeof at.sun_path - 1, path);
	memcpy(at.sun_path, path, bytes);
	*out = (struct place){.address_bytes = sizeof at};
	memcpy(&out->address, &at, sizeof at);
	return 0;
}

bool place_is_path(const struct place *p)
{
	return p->address.ss_family == AF_UNIX;
}

void place_write(const struct place *p, char out[PLACE_TEXT_BYTES])
{
	char host[INET6_ADDRSTRLEN] = "?";
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
	if (place_is_path(p)) {
		memcpy(&local, &p->address, sizeof local);
		snprintf(out, PLACE_TEXT_BYTES, "%.*s", (int)sizeof local.sun_path, local.sun_path);
	} else if (p->address.ss_family == AF_INET6) {
		memcpy(&v6, &p->address, sizeof v6);
		(void)inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
		snprintf(out, PLACE_TEXT_BYTES, "[%s]:%u", host, (unsigned)ntohs(v6.sin6_port));
	} else {
		memcpy(&v4, &p->address, sizeof v4);
		(void)inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
		snprintf(out, PLACE_TEXT_BYTES, "%s:%u", host, (unsigned)ntohs(v4.sin_port));
	}
}
