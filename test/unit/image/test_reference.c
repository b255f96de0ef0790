/* Names of images. SPDX-License-Identifier: Apache-2.0 */
#include "image/reference.h"

#include "t.h"

#include <stdio.h>
#include <string.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF"
#define LOW "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST(names_in_full)
{
	static const struct {
		const char *text, *full, *brief;
	} rows[] = {
		{"python", "docker.io/library/python:latest", "python:latest"},
		{"python:3.12", "docker.io/library/python:3.12", "python:3.12"},
		{"docker.io/python", "docker.io/library/python:latest", "python:latest"},
		{"index.docker.io/a/b", "docker.io/a/b:latest", "a/b:latest"},
		{"a/b/c:x", "docker.io/a/b/c:x", "a/b/c:x"},
		{"docker.io/library/a/b", "docker.io/library/a/b:latest", "library/a/b:latest"},
		{"docker.io/a.b/c", "docker.io/a.b/c:latest", "docker.io/a.b/c:latest"},
		{"docker.io/localhost/c", "docker.io/localhost/c:latest",
			"docker.io/localhost/c:latest"},
		{"ghcr.io/a/b", "ghcr.io/a/b:latest", "ghcr.io/a/b:latest"},
		{"localhost/a", "localhost/a:latest", "localhost/a:latest"},
		{"localhost:5000/a:t", "localhost:5000/a:t", "localhost:5000/a:t"},
		{"[::1]:5000/a", "[::1]:5000/a:latest", "[::1]:5000/a:latest"},
		{"a-b_c__e/f.g---h", "docker.io/a-b_c__e/f.g---h:latest",
			"a-b_c__e/f.g---h:latest"},
		{"a@sha256:" HEX, "docker.io/library/a@sha256:" LOW, "a@sha256:" LOW},
		{"a:1@sha256:" LOW, "docker.io/library/a@sha256:" LOW, "a@sha256:" LOW},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct image_ref ref;
		struct err err = {0};
		char full[IMAGE_NAME_BYTES], again[IMAGE_NAME_BYTES];
		if (!CHECK_INT(image_ref_parse(&ref, rows[i].text, &err), 0))
			continue;
		image_ref_name(&ref, full);
		CHECK_STR(full, rows[i].full);
		CHECK_STR(image_ref_short(full), rows[i].brief);
		/* What people write leads back to the same image. */
		CHECK_INT(image_ref_parse(&ref, image_ref_short(full), &err), 0);
		image_ref_name(&ref, again);
		CHECK_STR(again, full);
	}
}

TEST(what_is_no_name)
{
	static const char bad_kind[] = "a@md5:" LOW, bad_digest[] = "a@sha256:" LOW "0";
	static const char *const rows[] = {"", "/", "a/", "/a", "a//b", "A", "a b", "a:", ":a",
		"a:b:c", "a:.b", "a:-b", "-a", "a-", "a..b", "a___b", "a.-b", "http://a/b", "../a",
		"a/../b", "a@sha256:12", bad_kind, bad_digest, "a.b:x/c", "a.b:123456/c", "-a.b/c",
		"[::1/a", "a\nb", "\xc3\xbc", "a?b", "a%2fb", "x.y/../z"};
	char tag[140] = "a:", path[400];
	struct image_ref ref;
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		err = (struct err){0};
		if (!CHECK(image_ref_parse(&ref, rows[i], &err) < 0))
			t_check_str(rows[i], "", __FILE__, __LINE__, "the name");
		CHECK_INT(err.code, ERR_USAGE);
		CHECK(err.hint[0]);
	}
	memset(tag + 2, 'x', 128);
	CHECK_INT(image_ref_parse(&ref, tag, &err), 0);
	tag[130] = 'x';
	CHECK(image_ref_parse(&ref, tag, &err) < 0);
	memset(path, 'x', sizeof path);
	path[sizeof path - 1] = '\0';
	CHECK(image_ref_parse(&ref, path, &err) < 0);
}

TEST(hosts_of_this_machine)
{
	static const struct {
		const char *name;
		int is_local;
	} rows[] = {{"localhost:1/a", 1}, {"LOCALHOST:1/a", 1}, {"127.0.0.1:1/a", 1},
		{"127.9.8.7:1/a", 1}, {"[::1]:1/a", 1}, {"localhost.x:1/a", 0},
		{"127.0.0.1.x:1/a", 0}, {"10.0.0.1:1/a", 0}, {"128.0.0.1:1/a", 0}, {"[::2]:1/a", 0},
		{"a", 0}, {"2130706433.:1/a", 0}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct image_ref ref;
		struct err err;
		if (image_ref_parse(&ref, rows[i].name, &err) == 0)
			CHECK_INT(image_host_is_local(ref.host), rows[i].is_local);
		else
			CHECK_INT(0, rows[i].is_local);
	}
}
