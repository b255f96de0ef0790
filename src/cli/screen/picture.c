/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen/picture.h"

#include "base/base64.h"
#include "base/fd.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KITTY_CHUNK_BYTES = 4096 };

static enum picture_mode guess(const char *dir)
{
	const char *term = getenv("TERM"), *program = getenv("TERM_PROGRAM");
	if (!isatty(STDOUT_FILENO))
		return dir ? PICTURE_PATH : PICTURE_NONE;
	if (getenv("KITTY_WINDOW_ID") || (term && strstr(term, "kitty")) ||
		(program && strcmp(program, "ghostty") == 0))
		return PICTURE_KITTY;
	if (program && (strcmp(program, "iTerm.app") == 0 || strcmp(program, "WezTerm") == 0))
		return PICTURE_ITERM;
	return PICTURE_PATH;
}

void picture_init(struct picture *p, int mode, const char *dir, struct sink *out)
{
	*p = (struct picture){.mode = (enum picture_mode)mode, .dir = dir, .out = out};
	if (p->mode == PICTURE_AUTO) {
		p->mode = guess(dir);
		p->is_dropped = p->mode == PICTURE_NONE;
	}
}

void picture_ask(int mode, json_t *create)
{
	json_t *env = json_object_get(create, "env");
	if (mode == PICTURE_SIXEL && env)
		json_put_text(env, "RETORT_IMAGES", "sixel");
}

static void put(struct picture *p, const char *text)
{
	sink_add(p->out, text, strlen(text));
}

/* Write a PNG image to the terminal in kitty's protocol. Source: kitty's graphics protocol,
 * "Transferring pixel data" (f=100: PNG). */
static void show_kitty(struct picture *p, const char *base64, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += KITTY_CHUNK_BYTES) {
		size_t n = MIN(bytes - at, (size_t)KITTY_CHUNK_BYTES);
		char head[48];
		snprintf(head, sizeof head, "\033_G%sm=%d;", at == 0 ? "a=T,f=100," : "",
			at + n < bytes);
		put(p, head);
		sink_add(p->out, base64 + at, n);
		put(p, "\033\\");
	}
	put(p, "\n");
}

/* Write an image to the terminal in iTerm2's protocol. Source: iTerm2's inline images protocol. */
static void show_iterm(struct picture *p, const char *base64, size_t bytes)
{
	put(p, "\033]1337;File=inline=1:");
	sink_add(p->out, base64, bytes);
	put(p, "\a\n");
}

/* Return whether @text is exactly one sixel sequence. It comes from a box, which must not send
 * any other escape sequence to the terminal. */
static bool is_sixel(const char *text, size_t bytes)
{
	static const char head[] = "\033Pq", tail[] = "\033\\";
	if (bytes < 5 || memcmp(text, head, 3) != 0 || memcmp(text + bytes - 2, tail, 2) != 0)
		return false;
	for (size_t i = 3; i < bytes - 2; i++)
		if (text[i] < '!' || text[i] > '~')
			return false;
	return true;
}

static bool show_sixel(struct picture *p, const json_t *mimes)
{
	const json_t *sixel = json_object_get(mimes, "image/x-sixel");
	const char *text = json_string_value(sixel);
	size_t bytes = json_string_length(sixel);
	if (!text || !is_sixel(text, bytes))
		return false;
	sink_add(p->out, text, bytes);
	put(p, "\n");
	p->n_shown++;
	return true;
}

static bool save(struct picture *p, const char *png, size_t bytes)
{
	char path[4096];
	struct stat st = {0};
	if (!p->dir && !(p->dir = mkdtemp(strcpy(p->made_dir, "/tmp/retort-XXXXXX"))))
		return false;
	snprintf(path, sizeof path, "%s/figure-%u.png", p->dir, p->n_shown + 1);
	/* The directory may contain files that a box has created, so do not follow a link, and
	 * do not wait for a pipe. */
	cleanup_fd int fd = open(
		path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666);
	int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0)
		r = S_ISREG(st.st_mode) ? fd_write_all(fd, png, bytes) : -EEXIST;
	if (r == 0 && ftruncate(fd, (off_t)bytes) < 0)
		r = -errno;
	if (r < 0)
		fprintf(stderr, "retort: %s: %s: see --out and --images\n", path, strerror(-r));
	else
		fprintf(stderr, "retort: figure saved: %s\n", path);
	return r == 0;
}

static bool show_image(struct picture *p, const char *base64, size_t bytes)
{
	cleanup_buf struct buf png = BUF_INIT(bytes + 1);
	struct err err;
	bool is_shown = true;
	/* Decoding also ensures that nothing but base64 reaches the terminal. */
	if (base64_read(&png, base64, bytes, &err) < 0)
		return false;
	if (p->mode == PICTURE_KITTY)
		show_kitty(p, base64, bytes);
	else if (p->mode == PICTURE_ITERM)
		show_iterm(p, base64, bytes);
	else
		is_shown = save(p, png.data, png.bytes);
	p->n_shown += is_shown;
	return is_shown;
}

bool picture_show(struct picture *p, const json_t *mimes)
{
	const json_t *png = json_object_get(mimes, "image/png");
	const json_t *text = json_object_get(mimes, "text/plain");
	if (p->mode == PICTURE_SIXEL && show_sixel(p, mimes))
		return true;
	if (json_is_string(png) && p->mode != PICTURE_NONE &&
		show_image(p, json_string_value(png), json_string_length(png)))
		return true;
	if (json_is_string(png) && p->is_dropped && !p->is_quiet) {
		fputs("retort: a figure was not kept: -o DIR keeps figures\n", stderr);
		p->is_dropped = false;
	}
	if (!json_is_string(text))
		return false;
	sink_add(p->out, json_string_value(text), json_string_length(text));
	put(p, "\n");
	return json_is_string(png);
}
