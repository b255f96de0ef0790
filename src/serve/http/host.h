/* The values of Host and Origin that are allowed: protection against pages of other sites.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* A page of any site can make a browser send requests to any address, and even read the answers if
 * the name of its site is then resolved to that address (DNS rebinding). The headers Host and
 * Origin reveal both. */
struct host_rules {
	const char *const *hosts; /* besides loopback names: "engine.example" */
	size_t n_hosts;
	const char *const *origins; /* "https://console.example" */
	size_t n_origins;
};

/*
 * Is this value of Host allowed? Allowed are loopback names, all IP addresses (rebinding needs a
 * name), and `hosts`, each with any port. Source:  RFC 9110, 7.2; RFC 3986, 3.2.
 */
bool host_is_allowed(const struct host_rules *rules, const char *host);

/* May a page of @origin send requests? Allowed are loopback names and `origins`. Source: RFC
 * 6454, 7. */
bool origin_is_allowed(const struct host_rules *rules, const char *origin);
/* Is it one of `origins`? Its pages may also read the answers. */
bool origin_is_named(const struct host_rules *rules, const char *origin);

/* Are all names and origins well-formed? Errors: ERR_USAGE with a hint. */
int host_rules_check(const struct host_rules *rules, struct err *err);
