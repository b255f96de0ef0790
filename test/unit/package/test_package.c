/* Named sets of rules: what becomes of the addresses that clients are configured with.
 * SPDX-License-Identifier: Apache-2.0 */
#include "package/answer.h"
#include "package/package.h"

#include "base/attr.h"
#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *list(char *const *texts, size_t n)
{
	static char out[4096];
	out[0] = '\0';
	for (size_t i = 0; i < n; i++)
		(void)snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i ? " " : "",
			texts[i]);
	return out;
}

/* What each becomes; no rules: it is refused. */
static const struct {
	const char *text, *rules, *env;
} addresses[] = {
	{"https://a.example/simple", "a.example:443", "U=https://a.example/simple"},
	{"https://A.example:8443", "A.example:8443", "U=https://A.example:8443"},
	{"http://a.example", "a.example:80", "T=a.example U=http://a.example"},
	{"a,b|off", "", "U=a,b|off"},
	{"", "", "U="},
	{"https://a.example/@x:y,direct|https://b.example", "a.example:443 b.example:443",
		"U=https://a.example/@x:y,direct|https://b.example"},
	{"sparse+https://a.example/#x?y@z", NULL, NULL},
	{"git+https://a.example/ file:///x", "a.example:443", "U=git+https://a.example/ file:///x"},
	{"http://localhost:3141/root", "s.host.internal:3141=127.0.0.1:3141",
		"T=s.host.internal U=http://s.host.internal:3141/root"},
	{"http://LOCALHOST", "s.host.internal:80=127.0.0.1:80",
		"T=s.host.internal U=http://s.host.internal"},
	{"http://127.8.0.1:1", "s.host.internal:1=127.8.0.1:1",
		"T=s.host.internal U=http://s.host.internal:1"},
	{"http://[::1]:2/x", "s.host.internal:2=[::1]:2",
		"T=s.host.internal U=http://s.host.internal:2/x"},
	{"https://10.1.2.3/", "10.1.2.3:443", "U=https://10.1.2.3/"},
	{"https://a.example:/", "a.example:443", "U=https://a.example/"},
	{"http://a.example http://b.example https://c.example",
		"a.example:80 b.example:80 c.example:443",
		"T=a.example b.example U=http://a.example http://b.example "
		"https://c.example"},
	{"https://u@a.example", NULL, NULL},
	{"https://u:p@a.example/x", NULL, NULL},
	{"https://:p@a.example", NULL, NULL},
	{"https://a.example:443@b.example", NULL, NULL},
	{"https://a.example?k=v", NULL, NULL},
	{"https://localhost/", NULL, NULL},
	{"https://", NULL, NULL},
	{"https:///x", NULL, NULL},
	{"https://a.example:0", NULL, NULL},
	{"https://a.example:99999", NULL, NULL},
	{"https://a.example:8x", NULL, NULL},
	{"https://[::1", NULL, NULL},
	{"https://a_b;.example", NULL, NULL},
	{"https://a.example\\@b.example", NULL, NULL},
	{"https://0x7f000001/", NULL, NULL},
	{"https://*.example/", NULL, NULL},
	{"https://any/", NULL, NULL},
	{"https://!a.example/", NULL, NULL},
	{"https://a.example=127.0.0.1/", NULL, NULL},
};

TEST(addresses_become_rules)
{
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		struct package_answer a = {.set = "s", .trusts = "T"};
		struct err err = {0};
		int r = package_answer_add(&a, "U", addresses[i].text, &err);
		if (!CHECK_INT(r, addresses[i].rules ? 0 : -EINVAL))
			printf("# %s: %s\n", addresses[i].text, err.msg);
		if (addresses[i].rules && r == 0) {
			CHECK_STR(list(a.rules, a.n_rules), addresses[i].rules);
			CHECK_STR(list(a.env, a.n_env), addresses[i].env);
		} else if (!addresses[i].rules) {
			CHECK_HAS(err.msg, "s: ");
		}
		package_answer_done(&a);
	}
}

TEST(bounds)
{
	struct package_answer a = {.set = "s"};
	struct err err = {0};
	char text[64];
	for (int i = 0; i < PACKAGE_ITEMS_MAX; i++) {
		(void)snprintf(text, sizeof text, "https://h%d.example", i);
		CHECK_INT(package_answer_add(&a, NULL, text, &err), 0);
		CHECK_INT(package_answer_add(&a, NULL, text, &err), 0); /* kept once */
	}
	CHECK_INT(package_answer_add(&a, NULL, "https://one.more", &err), -E2BIG);
	package_answer_done(&a);

	char *longest = calloc(1, PACKAGE_VALUE_BYTES + 2);
	memset(longest, 'a', PACKAGE_VALUE_BYTES + 1);
	CHECK_INT(package_answer_add(&a, "U", longest, &err), -E2BIG);
	memcpy(longest, "https://", 8);
	CHECK_INT(package_answer_add(&a, "U", longest, &err), -EINVAL);
	free(longest);
	package_answer_done(&a);
}

/* Nobody is asked: there is no program that could be found. */
TEST(other_rules_stay)
{
	static const char *const net[] = {
		"npm:443", "api.example", "!go:443", "PYPI", "npm.example", ""};
	struct package_expansion e;
	struct err err = {0};
	CHECK_INT(setenv("PATH", "/nowhere", 1), 0);
	CHECK_INT(package_expand(&e, net, ARRAY_LEN(net), &err), 0);
	CHECK(!e.has_set && !e.net && e.n_net == 0 && e.n_env == 0);
	package_expansion_done(&e);
	CHECK_INT(package_expand(&e, NULL, 0, &err), 0);
	CHECK(!e.has_set);
}

TEST(sets_without_a_client)
{
	static const char *const names[] = {"npm", "!go", "debian"};
	struct package_expansion e = {.n_net = 7};
	CHECK_INT(setenv("PATH", "/nowhere", 1), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct err err = {0};
		const char *net[] = {"api.example", names[i]};
		CHECK_INT(package_expand(&e, net, 2, &err), -ENOEXEC);
		CHECK_HAS(err.msg, "no program");
		CHECK_HAS(err.hint, "--net HOST");
		CHECK_INT(e.n_net, 7); /* unchanged */
		/* a failure is remembered, too */
		CHECK_INT(setenv("PATH", "/usr/bin:/bin", 1), 0);
		CHECK_INT(package_expand(&e, net, 2, &err), -ENOEXEC);
		CHECK_INT(setenv("PATH", "/nowhere", 1), 0);
	}
	package_forget();
}

TEST(order_and_marks)
{
	static const char *const net[] = {"first", "!crates", "last:1"};
	struct package_expansion e;
	struct err err = {0};
	CHECK_INT(setenv("CARGO_HOME", "/nowhere", 1), 0);
	CHECK_INT(package_expand(&e, net, 3, &err), 0);
	CHECK_STR(list(e.net, e.n_net), "first !crates.io:443 !*.crates.io:443 last:1");
	package_expansion_done(&e);
	package_forget();
}
