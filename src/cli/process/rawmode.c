/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/process/rawmode.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

void rawmode_begin(struct rawmode *raw, int fd)
{
	if (raw->is_raw || tcgetpgrp(fd) != getpgrp() || tcgetattr(fd, &raw->before) < 0)
		return;
	struct termios mode = raw->before;
	cfmakeraw(&mode);
	raw->fd = fd;
	raw->is_raw = tcsetattr(fd, TCSADRAIN, &mode) == 0;
}

void rawmode_end(struct rawmode *raw)
{
	if (!raw->is_raw)
		return;
	/* If we are in the background meanwhile, tcsetattr() would stop this process instead. */
	sigset_t ttou, before;
	(void)sigemptyset(&ttou);
	(void)sigaddset(&ttou, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &ttou, &before);
	(void)tcsetattr(raw->fd, TCSANOW, &raw->before);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	raw->is_raw = false;
}

bool rawmode_size(int fd, int *rows, int *columns)
{
	struct winsize size;
	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
		return false;
	*rows = size.ws_row;
	*columns = size.ws_col;
	return true;
}
