/* Rules for the headers Host and Origin, against requests from pages of other sites.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* The rules. A page of any site can make a browser send requests to any address, and even read the
 * responses if the name of its site then resolves to that address (DNS rebinding). The headers Host
 * and Origin reveal both attacks. */
struct host_rules {
	const char *const *hosts; /* allowed hosts besides loopback names: "engine.example" */
	size_t n_hosts;
	const char *const *origins; /* allowed origins: "https://console.example" */
	size_t n_origins;
};

/*
 * Is this value of Host allowed? Allowed are loopback names, all IP addresses (rebinding needs a
 * name), and `hosts`, each with any port.
 * Source:  RFC 9110, 7.2; RFC 3986, 3.2.
 */
bool host_is_allowed(const struct host_rules *rules, const char *host);

/* May a page of @origin send requests? Allowed are loopback names and `origins`. Source: RFC
 * 6454, 7. */
bool origin_is_allowed(const struct host_rules *rules, const char *origin);
/* Is @origin one of `origins`? Its pages may also read the responses. */
bool origin_is_named(const struct host_rules *rules, const char *origin);

/* Are all names and origins well-formed? Errors: ERR_USAGE with a hint. */
int host_rules_check(const struct host_rules *rules, struct err *err);
