/* Pictures: what a box calls one never controls the terminal. SPDX-License-Identifier: Apache-2.0
 */
#include "cli/screen/picture.h"

#include "base/fd.h"
#include "t.h"
#include "tree.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a terminal would get. */
struct screen {
	int reader, writer;
	struct sink sink;
	struct picture picture;
	char text[64 << 10];
	size_t bytes;
};

static void screen_open(struct screen *s, enum picture_mode mode, const char *dir)
{
	int ends[2];
	*s = (struct screen){0};
	CHECK_INT(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	s->reader = ends[0];
	s->writer = ends[1];
	sink_init(&s->sink, s->writer, 1 << 20);
	picture_init(&s->picture, mode, dir, &s->sink);
}

static const char *screen_read(struct screen *s)
{
	ssize_t n = read(s->reader, s->text, sizeof s->text - 1);
	s->bytes = n > 0 ? (size_t)n : 0;
	s->text[s->bytes] = '\0';
	return s->text;
}

static void screen_close(struct screen *s)
{
	sink_done(&s->sink);
	fd_close(&s->reader);
	fd_close(&s->writer);
}
#define SCREEN cleanup(screen_close) struct screen

static bool show(struct screen *s, const char *png, size_t bytes)
{
	json_t *mimes = json_object();
	CHECK_INT(json_object_set_new(mimes, "image/png", json_stringn_nocheck(png, bytes)), 0);
	bool is_shown = picture_show(&s->picture, mimes);
	json_decref(mimes);
	return is_shown;
}

static const enum picture_mode protocols[] = {PICTURE_KITTY, PICTURE_ITERM};

TEST(good_pictures)
{
	SCREEN kitty, iterm;
	screen_open(&kitty, PICTURE_KITTY, NULL);
	CHECK(show(&kitty, "iVBORw0K", 8));
	CHECK_STR(screen_read(&kitty), "\033_Ga=T,f=100,m=0;iVBORw0K\033\\\n");
	CHECK_INT(kitty.picture.n_shown, 1);
	screen_open(&iterm, PICTURE_ITERM, NULL);
	CHECK(show(&iterm, "iVBORw0K", 8));
	CHECK_STR(screen_read(&iterm), "\033]1337;File=inline=1:iVBORw0K\a\n");
}

/* Whatever is no base64 to its last byte leaves the terminal untouched. */
TEST(hostile_pictures_show_nothing)
{
	static const struct {
		const char *text;
		size_t bytes;
	} rows[] = {
		{"\033]0;owned\a", 10},
		{"iVBORw0K\033[2J", 12},
		{"iVBO\033Rw0", 8},
		{"iVBORw0K\a", 9},
		{"iVBORw0K\n", 9},
		{" iVBORw0K", 9},
		{"iVBO Rw0K", 9},
		{"iVBORw0K\0\033[2J", 13},
		{"iVBORw0\033", 8},
		{"iVBORw0", 7},
		{"iVBORw==x", 9},
		{"====", 4},
		{"=", 1},
		{"iVBO=w0K", 8},
		{"iVB-_w0K", 8},
		{"\xc2\x9b"
		 "2J",
			4},
		{"\x9b"
		 "2Jx",
			4},
		{"iVBORw0K\x7f", 9},
		{"a", 1},
		{"ab==\033\\", 6},
	};
	for (size_t m = 0; m < ARRAY_LEN(protocols); m++)
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			SCREEN s;
			screen_open(&s, protocols[m], NULL);
			if (!CHECK(!show(&s, rows[i].text, rows[i].bytes)))
				printf("# row %zu\n", i);
			CHECK_STR(screen_read(&s), "");
			CHECK_INT(s.picture.n_shown, 0);
		}
}

/* Every single byte at every place of a good picture: shown only when it is base64. */
TEST(no_byte_slips_through)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t at = 0; at < 8; at++)
		for (int c = 0; c < 256; c++) {
			SCREEN s;
			char text[] = "iVBORw0K";
			text[at] = (char)c;
			screen_open(&s, PICTURE_KITTY, NULL);
			bool is_good = c && strchr(alphabet, c);
			bool is_shown = show(&s, text, 8);
			if (c != '=' && !CHECK_INT(is_shown, is_good))
				printf("# byte %d at %zu\n", c, at);
			CHECK_INT(screen_read(&s)[0] != '\0', is_shown);
		}
}

static bool show_sixel(struct screen *s, const char *text, size_t bytes)
{
	json_t *mimes = json_object();
	json_t *sixel = json_stringn_nocheck(text, bytes);
	CHECK_INT(json_object_set_new(mimes, "image/x-sixel", sixel), 0);
	bool is_shown = picture_show(&s->picture, mimes);
	json_decref(mimes);
	return is_shown;
}

TEST(sixels)
{
	static const char *const good[] = {"\033Pq\033\\", "\033Pq#0;2;0;0;0#0~~@@vv@@~~$-\033\\"};
	static const char *const bad[] = {"", "\033Pq", "\033\\", "\033P\033\\", "Pq~\033\\",
		"\033Pq~~", "\033Pq~\033\\\033[2J", "\033Pq~\033\\\033Pq~\033\\",
		"\033Pq~\x07\033\\", "\033Pq~ ~\033\\", "\033Pq~\x9c\033\\", "\033Pq~\n\033\\",
		"\033Pq~\x7f\033\\", "x\033Pq~\033\\", "\033Pq~\033\\\n", "\033]0;x\a\033\\",
		"\033Pq\033[2J\033\\"};
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		SCREEN s;
		screen_open(&s, PICTURE_SIXEL, NULL);
		CHECK(show_sixel(&s, good[i], strlen(good[i])));
		CHECK(strncmp(screen_read(&s), good[i], strlen(good[i])) == 0);
		CHECK_STR(s.text + strlen(good[i]), "\n");
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		SCREEN s;
		screen_open(&s, PICTURE_SIXEL, NULL);
		if (!CHECK(!show_sixel(&s, bad[i], strlen(bad[i]))))
			printf("# row %zu\n", i);
		CHECK_STR(screen_read(&s), "");
	}
	SCREEN s;
	screen_open(&s, PICTURE_SIXEL, NULL);
	CHECK(!show_sixel(&s, "\033Pq\0\033\\", 6));
	CHECK(!show_sixel(&s, "\033Pq\033\\\0\033\\", 8));
	CHECK_STR(screen_read(&s), "");
}

TEST(long_pictures_are_sent_in_chunks)
{
	SCREEN s;
	static char text[10000];
	memset(text, 'A', sizeof text);
	screen_open(&s, PICTURE_KITTY, NULL);
	CHECK(show(&s, text, sizeof text));
	(void)screen_read(&s);
	CHECK_HAS(s.text, "\033_Ga=T,f=100,m=1;AAAA");
	CHECK_HAS(s.text, "\033\\\033_Gm=1;AAAA");
	CHECK_HAS(s.text, "\033\\\033_Gm=0;AAAA");
	size_t n = 0;
	for (size_t i = 0; i < s.bytes; i++)
		n += s.text[i] == 'A';
	CHECK_INT(n, sizeof text);
}

TEST(files)
{
	TREE t = tree_new();
	SCREEN s;
	cleanup_fd int silent = open("/dev/null", O_WRONLY | O_CLOEXEC);
	(void)fflush(stderr);
	int stderr_was = dup(STDERR_FILENO);
	CHECK(dup2(silent, STDERR_FILENO) >= 0);
	screen_open(&s, PICTURE_PATH, t.root);
	CHECK(show(&s, "aGVsbG8=", 8));
	CHECK_STR(tree_get(&t, "/figure-1.png"), "hello");
	CHECK_INT(symlink(tree_path(&t, "/elsewhere"), tree_path(&t, "/figure-2.png")), 0);
	CHECK(!show(&s, "aGVsbG8=", 8)); /* somebody's link is not followed */
	CHECK(!tree_has(&t, "/elsewhere"));
	(void)fflush(stderr);
	CHECK(dup2(stderr_was, STDERR_FILENO) >= 0);
	(void)close(stderr_was);
	CHECK_STR(screen_read(&s), "");
}

TEST(text_stands_in)
{
	SCREEN s;
	screen_open(&s, PICTURE_NONE, NULL);
	json_t *both = json_pack("{s:s, s:s}", "image/png", "iVBORw0K", "text/plain", "<Figure>");
	json_t *text = json_pack("{s:s}", "text/plain", "42");
	json_t *other = json_pack("{s:s}", "text/html", "<b>");
	json_t *wrong = json_pack("{s:i, s:[]}", "image/png", 4, "text/plain");
	CHECK(picture_show(&s.picture, both));
	CHECK(!picture_show(&s.picture, text));
	CHECK(!picture_show(&s.picture, other));
	CHECK(!picture_show(&s.picture, wrong));
	CHECK_STR(screen_read(&s), "<Figure>\n42\n");
	json_decref(both);
	json_decref(text);
	json_decref(other);
	json_decref(wrong);
}

TEST(auto_without_a_terminal)
{
	int stdout_was = dup(STDOUT_FILENO);
	cleanup_fd int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	SCREEN with, without;
	(void)fflush(stdout);
	CHECK(dup2(null, STDOUT_FILENO) >= 0);
	screen_open(&with, PICTURE_AUTO, "/tmp");
	screen_open(&without, PICTURE_AUTO, NULL);
	CHECK(dup2(stdout_was, STDOUT_FILENO) >= 0);
	(void)close(stdout_was);
	CHECK_INT(with.picture.mode, PICTURE_PATH);
	CHECK_INT(without.picture.mode, PICTURE_NONE);
}
