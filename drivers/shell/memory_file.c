/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_file.h"

#include "base/attr.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FD_MIN = 64 };

/*
 * If @fd is an unlinked file, reserve @bytes of disk space for it. A memfd needs no reservation.
 * The seals tell which of the two @fd is: an unlinked file on a tmpfs has F_SEAL_SEAL and no other
 * seal.
 */
static void keep_room(int fd, size_t bytes)
{
	if (fcntl(fd, F_GET_SEALS) == F_SEAL_SEAL)
		(void)fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes);
}

int memory_file_set(int fd, const char *text, size_t bytes)
{
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	keep_room(fd, MEMORY_FILE_ROOM_BYTES);
	return fd_write_all(fd, text, bytes);
}

void memory_file_clear(int fd, size_t max_bytes, size_t room_bytes)
{
	const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	if (ftruncate(fd, 0) == 0)
		keep_room(fd, room_bytes);
	/* The file is sealed: its size cannot change, so punch a hole. */
	else
		(void)fallocate(fd, mode, 0, (off_t)max_bytes);
}

int memory_file_new(const char *name, const char *text, size_t bytes)
{
	static const char *const places[] = {"/dev/shm", "/tmp"};
	cleanup_fd int low = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	for (size_t i = 0; low < 0 && i < ARRAY_LEN(places); i++)
		low = open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	cleanup_fd int fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, FD_MIN);
	int r = fd < 0 ? -errno : 0;
	if (r == 0 && text)
		r = memory_file_set(fd, text, bytes);
	else if (r == 0 && ftruncate(fd, (off_t)bytes) < 0)
		r = -errno;
	/*
	 * Fix the file's size, so that user code cannot make it grow. A file on a disk cannot be
	 * sealed: there the box's limits apply, and the driver reads only the start of a large
	 * report.
	 */
	else if (r == 0)
		(void)fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
	return r < 0 ? r : take_fd(fd);
}
