/* Addresses at which a port can be opened. SPDX-License-Identifier: Apache-2.0 */
#include "session/port/place.h"

#include "t.h"

#include <errno.h>
#include <string.h>

/* How @text is written back, or "" if it is refused. */
static const char *parsed(const char *text)
{
	static char out[PLACE_TEXT_BYTES];
	struct place p;
	struct err err = {0};
	int r = place_parse(&p, text, &err);
	CHECK_INT(r, -err_errno(err.code));
	CHECK(err.code == ERR_NONE || (err.code == ERR_USAGE && err.hint[0]));
	out[0] = '\0';
	if (r == 0)
		place_write(&p, out);
	return out;
}

TEST(places)
{
	static const struct {
		const char *text, *written;
	} rows[] = {{"8080", "127.0.0.1:8080"}, {"0", "127.0.0.1:0"}, {"65535", "127.0.0.1:65535"},
		{"0.0.0.0:80", "0.0.0.0:80"}, {"localhost:80", "127.0.0.1:80"},
		{"[::1]:80", "[::1]:80"}, {"[0:0::1]:80", "[::1]:80"},
		{"[127.0.0.1]:1", "127.0.0.1:1"}, {"", ""}, {":80", ""}, {"[]:80", ""}, {"80:", ""},
		{"a:80", ""}, {"127.1:80", ""}, {"::1:80", ""}, {"[::1]", ""}, {"[::1]80", ""},
		{"1.2.3.4:65536", ""}, {"-1", ""}, {"+1", ""}, {" 1", ""}, {"1 ", ""}, {"0x50", ""},
		{"localhost:", ""}, {"1.2.3.4:5:6", ""}, {"unix", ""}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_STR(parsed(rows[i].text), rows[i].written);
}

TEST(a_long_host)
{
	char text[4096];
	memset(text, 'a', sizeof text);
	memcpy(text + sizeof text - 4, ":80", 4);
	CHECK_STR(parsed(text), "");
}

TEST(options)
{
	static const struct {
		const char *text, *written;
		uint16_t port;
	} rows[] = {{"80", "127.0.0.1:80", 80}, {"8080:80", "127.0.0.1:8080", 80},
		{"0:80", "127.0.0.1:0", 80}, {"0.0.0.0:8080:80", "0.0.0.0:8080", 80},
		{"[::1]:8080:80", "[::1]:8080", 80}, {"", "", 0}, {"0", "", 0}, {"80:", "", 0},
		{":80", "", 0}, {"80:0", "", 0}, {"80:65536", "", 0}, {"a:80", "", 0},
		{"1.2.3.4:80", "", 0}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char out[PLACE_TEXT_BYTES] = "";
		struct place p;
		struct err err = {0};
		uint16_t port = 0;
		int r = place_parse_option(&p, &port, rows[i].text, &err);
		CHECK_INT(r, -err_errno(err.code));
		if (r == 0)
			place_write(&p, out);
		CHECK_STR(out, rows[i].written);
		CHECK_INT(port, rows[i].port);
	}
}

TEST(paths)
{
	char text[PLACE_TEXT_BYTES], path[200];
	struct place p;
	struct err err = {0};
	memset(path, 'p', sizeof path);
	path[107] = '\0';
	CHECK_INT(place_of_path(&p, path, &err), 0);
	CHECK(place_is_path(&p));
	place_write(&p, text);
	CHECK_STR(text, path);
	path[107] = 'p';
	path[108] = '\0';
	CHECK_INT(place_of_path(&p, path, &err), -EINVAL);
	CHECK_INT(err.code, ERR_USAGE);
}
