/* Rules for the request headers Host and Origin, against attacks by web pages of other sites.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rules against two attacks by web pages. First, any page can make a browser send requests to
 * any address, such as the engine's. The header Origin of such a request names the site of the
 * page. Second, the attacker's DNS can resolve the name of the page's own site to the engine's
 * address (DNS rebinding). The page can then even read the responses. The header Host of such a
 * request has the name of the site. */
struct host_rules {
	/* Allowed hosts besides loopback names, such as "engine.example". "*.engine.example" or
	 * ".engine.example" allows every name with one label in front of the domain, and sites of
	 * the domain, but not the domain itself. */
	const char *const *hosts;
	size_t n_hosts;
	const char *const *origins; /* allowed origins, such as "https://console.example" */
	size_t n_origins;
};

/*
 * Return whether a request with this value of Host is allowed. Loopback names, all IP addresses and
 * the names in `hosts` are allowed, each with any port. IP addresses are safe, because DNS
 * rebinding needs a name.
 * Source:  RFC 9110, 7.2; RFC 3986, 3.2.
 */
bool host_is_allowed(const struct host_rules *rules, const char *host);

/* Return whether a page of @origin may send requests. Loopback names and addresses, and `origins`,
 * are allowed, but not sites: a box makes their pages. Source: RFC 6454, 7. */
bool origin_is_allowed(const struct host_rules *rules, const char *origin);
/* Return whether @origin is in `origins`. If so, pages of @origin may read the responses to their
 * requests, in addition to sending requests. */
bool origin_is_named(const struct host_rules *rules, const char *origin);

/* Return whether @origin is the origin of @host, a value of the header Host: the page comes from
 * this very server. @is_tls: the server speaks TLS, so that it has no page of "http://". Otherwise
 * a proxy in front of it may. */
bool origin_is_host(const char *origin, const char *host, bool is_tls);

/* A port of a session that has a host name of its own: PORT-SESSION.NAME. NAME is localhost, or
 * a name or the domain of a wildcard in `hosts`. So its pages have an origin of their own, and
 * browsers keep their cookies and storage apart. */
enum { HOST_SESSION_BYTES = 64 };
struct host_site {
	uint16_t port; /* 0: this is no such host */
	char session[HOST_SESSION_BYTES];
};

/* Read the site from a value of Host. Returns: whether it names one; @out is cleared if not. */
bool host_read_site(const struct host_rules *rules, const char *host, struct host_site *out);

/* Check that all names and origins are well-formed. Errors: ERR_USAGE with a hint. */
int host_rules_check(const struct host_rules *rules, struct err *err);
