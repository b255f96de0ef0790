/* Requests to init: what is well formed, and every way not to be. SPDX-License-Identifier:
 * Apache-2.0 */
#include "sandbox/init/spawn.h"

#include "base/fd.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct init_request *request(const char *text, size_t bytes, uint32_t argc, uint32_t envc)
{
	static struct init_request req;
	req = (struct init_request){.version = WIRE_VERSION,
		.op = INIT_SPAWN,
		.argc = argc,
		.envc = envc,
		.text_bytes = (uint32_t)bytes};
	memcpy(req.text, text, MIN(bytes, sizeof req.text));
	return &req;
}
#define REQUEST(text, argc, envc) request(text, sizeof(text), argc, envc)

static enum err_code check(const struct init_request *req, size_t n_fds)
{
	struct err err = {0};
	int r = spawn_check(req, n_fds, &err);
	CHECK_INT(r, -err_errno(err.code));
	return err.code;
}

TEST(good_spawns)
{
	CHECK_INT(check(REQUEST("/bin/true", 1, 0), 4), ERR_NONE);
	CHECK_INT(check(REQUEST("/bin/true\0A=1", 1, 1), 4), ERR_NONE);
	CHECK_INT(check(REQUEST("/bin/true\0-x\0A=1\0B=", 2, 2), 4), ERR_NONE);
	CHECK_INT(check(REQUEST("", 1, 0), 4), ERR_NONE); /* execve will say what it thinks */
	CHECK_INT(check(REQUEST("\0\0", 2, 1), 4), ERR_NONE);
}

TEST(versions_and_operations)
{
	struct init_request *req = REQUEST("/bin/true", 1, 0);
	req->version = 0;
	CHECK_INT(check(req, 4), ERR_PROTOCOL);
	req->version = WIRE_VERSION + 1;
	CHECK_INT(check(req, 4), ERR_PROTOCOL);
	req->version = WIRE_VERSION;
	static const uint32_t unknown[] = {0, INIT_OP_END_, INIT_OP_END_ + 1, UINT32_MAX};
	for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
		req->op = unknown[i];
		CHECK_INT(check(req, 4), ERR_PROTOCOL);
	}
	req->op = INIT_KILL_ALL;
	CHECK_INT(check(req, 0), ERR_NONE);
}

TEST(signals)
{
	static const struct {
		int signal;
		enum err_code want;
	} rows[] = {{1, ERR_NONE}, {SIGINT, ERR_NONE}, {64, ERR_NONE}, {65, ERR_PROTOCOL},
		{0, ERR_PROTOCOL}, {-1, ERR_PROTOCOL}, {INT32_MAX, ERR_PROTOCOL},
		{INT32_MIN, ERR_PROTOCOL}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct init_request *req = REQUEST("", 0, 0);
		req->op = INIT_SIGNAL;
		req->signal = rows[i].signal;
		CHECK_INT(check(req, 0), rows[i].want);
	}
}

TEST(addresses)
{
	struct init_request *req = REQUEST("/bin/true", 1, 0);
	req->is_fixed = 1;
	CHECK_INT(check(req, 4), ERR_NONE);
	req->is_fixed = 2;
	CHECK_INT(check(req, 4), ERR_PROTOCOL);
}

TEST(descriptors)
{
	static const size_t counts[] = {0, 1, 3, 5, 8, SIZE_MAX};
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		CHECK_INT(check(REQUEST("/bin/true", 1, 0), counts[i]), ERR_PROTOCOL);
}

TEST(counts_that_do_not_add_up)
{
	CHECK_INT(check(REQUEST("/bin/true", 0, 0), 4), ERR_LIMIT);
	CHECK_INT(check(REQUEST("/bin/true", 0, 1), 4), ERR_LIMIT);
	CHECK_INT(check(REQUEST("/bin/true", 2, 0), 4), ERR_PROTOCOL);
	CHECK_INT(check(REQUEST("/bin/true", 1, 1), 4), ERR_PROTOCOL);
	CHECK_INT(check(REQUEST("/bin/true\0x", 1, 0), 4), ERR_PROTOCOL);
	CHECK_INT(check(REQUEST("/bin/true", 16385, 0), 4), ERR_LIMIT);
	CHECK_INT(check(REQUEST("/bin/true", 1, 16385), 4), ERR_LIMIT);
	CHECK_INT(check(REQUEST("/bin/true", UINT32_MAX, 2), 4), ERR_LIMIT); /* the sum is 1 */
	CHECK_INT(check(REQUEST("/bin/true", 2, UINT32_MAX), 4), ERR_LIMIT);
}

TEST(texts)
{
	struct init_request *req = request("/bin/true", 9, 1, 0); /* its NUL is not sent */
	CHECK_INT(check(req, 4), ERR_PROTOCOL);
	CHECK_INT(check(request("/bin/true\0x", 11, 1, 0), 4), ERR_PROTOCOL);
	CHECK_INT(check(request("", 0, 1, 0), 4), ERR_PROTOCOL);
	req = REQUEST("/bin/true", 1, 0);
	req->text_bytes = WIRE_TEXT_BYTES + 1;
	CHECK_INT(check(req, 4), ERR_PROTOCOL);
	req->text_bytes = UINT32_MAX;
	CHECK_INT(check(req, 4), ERR_PROTOCOL);
}

TEST(full_text)
{
	struct init_request *req = REQUEST("", 1, 0);
	memset(req->text, 'a', sizeof req->text);
	req->text_bytes = sizeof req->text;
	CHECK_INT(check(req, 4), ERR_PROTOCOL);
	req->text[sizeof req->text - 1] = '\0';
	CHECK_INT(check(req, 4), ERR_NONE);
	memset(req->text, 0, sizeof req->text);
	req->text_bytes = 2048;
	req->argc = req->envc = 1024;
	CHECK_INT(check(req, 4), ERR_NONE);
	req->text_bytes = 2049;
	CHECK_INT(check(req, 4), ERR_PROTOCOL);
}

/* There is no /home/user here, or it is somebody's: the story comes back from the child either way.
 */
TEST(failure_in_the_child_is_told)
{
	struct init_request *req = REQUEST("/nonexistent/program", 1, 0);
	struct err err = {0};
	cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int fds[WIRE_SPAWN_FDS] = {null, null, null, null};
	req->pids = 1 << 20;
	req->open_files = 64;
	req->cpu_ms = 1000;
	(void)fflush(stdout);
	struct spawned spawned;
	CHECK(spawn(req, fds, &spawned, &err) < 0);
	CHECK(err.code == ERR_BOX || err.code == ERR_RUNTIME);
	CHECK_HAS(err.msg,
		err.code == ERR_BOX ? "enter the workspace" : "execute /nonexistent/program");
	CHECK(err.file == NULL);
}
