/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ssh/ssh_place.h"

#include "base/digest.h"
#include "base/json.h"
#include "cli/host/client.h"
#include "cli/host/xdg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENGINE_DIGITS = 16, TAIL_BYTES = ENGINE_DIGITS + SSH_HOST_BYTES + 8 };

bool ssh_place_is_plain(const char *name)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	return name[0] && name[0] != '.' && name[0] != '-' && strlen(name) < SSH_HOST_BYTES &&
		!name[strspn(name, plain)];
}

/* Refuse a path that cannot be written in ssh's files. Spaces and % can be. */
static int check_path(const char *path, const char *what, const char *hint, struct err *err)
{
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\' || *c == '\x7f')
			return err_fail(err, ERR_USAGE, hint,
				"%s %.150s has a character that ssh's files cannot have", what,
				path);
	if (strstr(path, "${"))
		return err_fail(
			err, ERR_USAGE, hint, "%s %.150s: ssh takes ${ for a variable", what, path);
	return 0;
}

static int find_socket(char out[PATH_MAX], const char *socket, struct err *err)
{
	char usual[PATH_MAX];
	int r = socket ? 0 : client_usual_path(usual, sizeof usual, err);
	if (r < 0)
		return r;
	if (!realpath(socket ? socket : usual, out))
		return err_sys(
			err, ERR_UNREACHABLE, errno, "socket %.150s", socket ? socket : usual);
	return check_path(out, "the socket", "start `retort serve` with another --socket", err);
}

static int fail_long(struct err *err)
{
	return err_fail(err, ERR_USAGE, "choose another XDG_STATE_HOME",
		"a path of more than %d bytes", PATH_MAX - 1);
}

/* Write the end of the usual directory of the keys to @out. */
static void tail_of(const struct ssh_place *place, char *out, size_t bytes)
{
	char digest[DIGEST_BYTES];
	digest_text(digest, place->socket, strlen(place->socket));
	snprintf(out, bytes, "/ssh/%.*s/%s", ENGINE_DIGITS, digest, place->host);
}

static bool has_tail(const char *dir, const char *tail)
{
	size_t bytes = strlen(dir), n = strlen(tail);
	return bytes > n && strcmp(dir + bytes - n, tail) == 0;
}

static int find_dir(struct ssh_place *place, const char *dir, struct err *err)
{
	char state[PATH_MAX] = "", tail[TAIL_BYTES];
	tail_of(place, tail, sizeof tail);
	int r = dir ? 0 : xdg_state_dir(state, err);
	if (r == 0)
		r = check_path(dir ? dir : state, "the state directory",
			"choose another XDG_STATE_HOME", err);
	if (r < 0)
		return r;
	int n = snprintf(place->dir, PATH_MAX, "%s%s", dir ? dir : state, dir ? "" : tail);
	if (n < 0 || n >= PATH_MAX)
		return fail_long(err);
	place->is_among_others = has_tail(place->dir, tail);
	return 0;
}

int ssh_place_find(struct ssh_place *out, const char *asked, const json_t *about,
	const char *socket, const char *dir, struct err *err)
{
	struct ssh_place place = {0};
	const char *id = json_get_text(about, "session"), *name = json_get_text(about, "name");
	const char *owner = json_get_text(about, "owner");
	if (!ssh_place_is_plain(id))
		return err_set(err, ERR_PROTOCOL, "the engine says nothing of the session's id");
	if (owner[0] && strcmp(asked, id) != 0) {
		err_set(err, ERR_DENIED, "session %.60s is of the caller %.60s", asked, owner);
		return err_hint(err, "if you mean it, name it by its id: %s", id);
	}
	bool has_host = !owner[0] && ssh_place_is_plain(name);
	snprintf(place.session, sizeof place.session, "%s", id);
	snprintf(place.host, sizeof place.host, "%s", has_host ? name : id);
	int r = find_socket(place.socket, socket, err);
	if (r == 0)
		r = find_dir(&place, dir, err);
	if (r == 0)
		*out = place;
	return r;
}
