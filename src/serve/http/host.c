/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/host.h"

#include "base/num.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 256 };

/* Return whether all characters of @text may occur in a host name or an IPv4 address. */
static bool is_name(const char *text)
{
	size_t bytes = strlen(text);
	if (bytes == 0 || bytes >= NAME_BYTES || text[0] == '.')
		return false;
	for (const char *at = text; *at; at++)
		if (!isascii(*at) || (!isalnum(*at) && *at != '-' && *at != '.' && *at != '_'))
			return false;
	return true;
}

static bool is_port(const char *text)
{
	size_t n = strspn(text, "0123456789");
	return text[n] == '\0' && n > 0 && n <= 5;
}

/* Split a value such as "name:8765", "name" or "[::1]:8765", and drop the port. Returns: false if
 * @host has another form. */
static bool split(const char *host, char name[NAME_BYTES], bool *is_bracketed)
{
	const char *end;
	*is_bracketed = host[0] == '[';
	if (*is_bracketed) {
		end = strchr(++host, ']');
		if (!end || (end[1] && !(end[1] == ':' && is_port(end + 2))))
			return false;
	} else {
		end = strchr(host, ':');
		if (end && !is_port(end + 1))
			return false;
		if (!end)
			end = host + strlen(host);
	}
	size_t bytes = (size_t)(end - host);
	if (bytes == 0 || bytes >= NAME_BYTES)
		return false;
	memcpy(name, host, bytes);
	name[bytes] = '\0';
	/* Drop the dot at the end of an absolute name: "engine.example." is "engine.example". */
	if (!*is_bracketed && bytes > 1 && name[bytes - 1] == '.')
		name[bytes - 1] = '\0';
	return true;
}

static bool is_address(const char *name, bool is_bracketed)
{
	struct in6_addr address;
	return inet_pton(is_bracketed ? AF_INET6 : AF_INET, name, &address) == 1;
}

static bool is_loopback_name(const char *name)
{
	static const char last[] = ".localhost";
	size_t bytes = strlen(name), n = sizeof last - 1;
	return strcasecmp(name, "localhost") == 0 ||
		(bytes > n && is_name(name) && strcasecmp(name + bytes - n, last) == 0);
}

static bool is_loopback(const char *name, bool is_bracketed)
{
	struct in_addr v4;
	struct in6_addr v6;
	if (is_bracketed)
		return inet_pton(AF_INET6, name, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
	if (inet_pton(AF_INET, name, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
	return is_loopback_name(name);
}

/* Return the domain of a rule such as "*.engine.example" or ".engine.example", or NULL. */
static const char *domain(const char *rule)
{
	const char *dot = rule[0] == '*' ? rule + 1 : rule;
	return dot[0] == '.' ? dot + 1 : NULL;
}

static bool is_in_list(const struct host_rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->n_hosts; i++)
		if (!domain(rules->hosts[i]) && strcasecmp(rules->hosts[i], name) == 0)
			return true;
	return false;
}

static bool is_domain(const struct host_rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->n_hosts; i++) {
		const char *of = domain(rules->hosts[i]);
		if (of && strcasecmp(of, name) == 0)
			return true;
	}
	return false;
}

/* Return whether @name is one label below a domain. */
static bool is_below_domain(const struct host_rules *rules, const char *name)
{
	const char *dot = strchr(name, '.');
	return dot && is_name(name) && is_domain(rules, dot + 1);
}

bool host_is_allowed(const struct host_rules *rules, const char *host)
{
	char name[NAME_BYTES];
	struct host_site site;
	bool is_bracketed;
	if (!split(host, name, &is_bracketed))
		return false;
	return is_address(name, is_bracketed) || is_loopback(name, is_bracketed) ||
		(!is_bracketed && (is_in_list(rules, name) || is_below_domain(rules, name))) ||
		host_read_site(rules, host, &site);
}

bool host_read_site(const struct host_rules *rules, const char *host, struct host_site *out)
{
	char name[NAME_BYTES];
	bool is_bracketed;
	uint64_t port;
	struct err err;
	*out = (struct host_site){0};
	if (!split(host, name, &is_bracketed) || is_bracketed || !is_name(name))
		return false;
	char *dash = strchr(name, '-'), *dot = strchr(name, '.');
	if (!dash || !dot || dash > dot || dot - dash > HOST_SESSION_BYTES || dot - dash < 2)
		return false;
	*dash = *dot = '\0';
	if (num_parse_count(name, (struct num_range){1, UINT16_MAX}, &port, &err) < 0 ||
		!(strcasecmp(dot + 1, "localhost") == 0 || is_in_list(rules, dot + 1) ||
			is_domain(rules, dot + 1)))
		return false;
	out->port = (uint16_t)port;
	snprintf(out->session, sizeof out->session, "%s", dash + 1);
	return true;
}

bool origin_is_named(const struct host_rules *rules, const char *origin)
{
	for (size_t i = 0; i < rules->n_origins; i++)
		if (strcasecmp(rules->origins[i], origin) == 0)
			return true;
	return false;
}

/* Return the host and port of an origin, the text after "http://" or "https://". Returns: NULL for
 * other schemes. */
static const char *authority(const char *origin)
{
	static const char *const schemes[] = {"http://", "https://"};
	for (size_t i = 0; i < 2; i++)
		if (strncasecmp(origin, schemes[i], strlen(schemes[i])) == 0)
			return origin + strlen(schemes[i]);
	return NULL;
}

bool origin_is_allowed(const struct host_rules *rules, const char *origin)
{
	char name[NAME_BYTES];
	bool is_bracketed;
	const char *host = authority(origin);
	struct host_site site;
	if (origin_is_named(rules, origin))
		return true;
	return host && split(host, name, &is_bracketed) && is_loopback(name, is_bracketed) &&
		!host_read_site(rules, host, &site);
}

bool origin_is_host(const char *origin, const char *host, bool is_tls)
{
	static const char plain[] = "http:";
	const char *of = authority(origin);
	bool is_plain = strncasecmp(origin, plain, sizeof plain - 1) == 0;
	return of && strcasecmp(of, host) == 0 && !(is_tls && is_plain);
}

int host_rules_check(const struct host_rules *rules, struct err *err)
{
	char name[NAME_BYTES];
	bool is_bracketed;
	for (size_t i = 0; i < rules->n_hosts; i++) {
		const char *of = domain(rules->hosts[i]);
		if (!is_name(of ? of : rules->hosts[i]))
			return err_fail(err, ERR_USAGE,
				"a name as in https://name:port/, without the port, or *.name",
				"--allow-host \"%.100s\" is not a host name", rules->hosts[i]);
		/* Whoever can register a name there could bind it to this address. */
		const char *dot = of ? strchr(of, '.') : NULL;
		if (of && (!dot || !dot[1]))
			return err_fail(err, ERR_USAGE,
				"a domain of your own, such as *.engine.example",
				"--allow-host \"%.100s\" would be a whole top-level domain",
				rules->hosts[i]);
	}
	for (size_t i = 0; i < rules->n_origins; i++) {
		const char *host = authority(rules->origins[i]);
		if (!host || !split(host, name, &is_bracketed) ||
			!(is_name(name) || is_address(name, is_bracketed)))
			return err_fail(err, ERR_USAGE,
				"as browsers write it: https://name or http://name:port",
				"--allow-origin \"%.100s\" is not an origin", rules->origins[i]);
	}
	return 0;
}
