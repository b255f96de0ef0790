/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/image_need.h"

#include "api/once/once_image.h"
#include "base/word.h"
#include "cli/host/xdg.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SELF "/proc/self/exe"

/* What it prints goes to stderr: stdout is for the program. Returns: its exit status. */
static int pull(const char *name, bool is_quiet, struct err *err)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(STDERR_FILENO, STDOUT_FILENO);
		/* "--": a name may begin with '-' */
		if (is_quiet)
			(void)execl(SELF, "retort", "image", "pull", "--quiet", "--", name, NULL);
		else
			(void)execl(SELF, "retort", "image", "pull", "--", name, NULL);
		_exit(127);
	}
	if (pid < 0)
		return err_sys(err, ERR_INTERNAL, errno, "fork");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int image_need(const char *name, const char *policy, bool is_quiet, json_t **about, struct err *err)
{
	const char *dir = xdg_layers_dir(NULL);
	bool is_always = policy && strcmp(policy, "always") == 0;
	bool is_never = policy && strcmp(policy, "never") == 0;
	*about = NULL;
	if (policy && !word_is_in("|" IMAGE_PULL_CHOICES "|", policy, strlen(policy)))
		return err_fail(err, ERR_USAGE, "choose missing, always or never",
			"--pull %.40s: there is no such choice", policy);
	*about = is_always ? NULL : once_image(dir, name, err);
	if (*about)
		return 0;
	if (!is_always && (is_never || !dir || err->code != ERR_NOT_FOUND))
		return -err_errno(err->code);
	int r = pull(name, is_quiet, err);
	if (r != 0)
		return r;
	*about = once_image(dir, name, err);
	return *about ? 0 : -err_errno(err->code);
}
