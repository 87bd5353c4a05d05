/* program.c - finds the file of a command, and whether the recorder can be loaded into it */
#include "launch/target/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_name.h"
#include "base/loader_name.h"
#include "platform/arch.h"
#include "platform/os_tools.h"

enum { HEAD_BYTES = 4096, SCRIPTS_MAX = 5, PROGRAM_HEADERS_MAX = 512 };

/* --- finding it --- */

/* Returns 0, or the errno that says why it is not a program. */
static int check(const char *path)
{
  struct stat about;
  if (stat(path, &about) < 0)
    return errno;
  if (S_ISDIR(about.st_mode))
    return EACCES;
  return access(path, X_OK) < 0 ? errno : 0;
}

static bool is_absence(int os_error)
{
  return os_error == ENOENT || os_error == ENOTDIR;
}

static void search(struct hwi_program *program, const char *command)
{
  const char *list = getenv("PATH");
  char standard[] = "/bin:/usr/bin"; /* as execvp does */
  program->os_error = ENOENT;
  for (const char *at = list ? list : standard;; at++) {
    size_t bytes = strcspn(at, ":");
    char *path = NULL;
    if (asprintf(&path, "%.*s%s%s", (int)bytes, at, bytes ? "/" : "./", command) < 0)
      return;
    int wrong = check(path);
    if (wrong == 0 ||
        (!is_absence(wrong) && is_absence(program->os_error))) { /* the error of a file that exists says more */
      free(program->path);
      program->path = path;
      program->os_error = wrong;
    } else {
      free(path);
    }
    at += bytes;
    if (wrong == 0 || !*at)
      return;
  }
}

/* --- judging it --- */

/* Reads the path of the dynamic loader into `loader`, which stays empty if there is none. Returns false if the file
 * ends too early. */
static bool read_loader(int fd, const ElfW(Ehdr) *elf, char loader[PATH_MAX])
{
  loader[0] = 0;
  for (unsigned i = 0; i < elf->e_phnum && i < PROGRAM_HEADERS_MAX; i++) {
    ElfW(Phdr) header;
    if (pread(fd, &header, sizeof header, (off_t)(elf->e_phoff + i * sizeof header)) != (ssize_t)sizeof header)
      return false;
    if (header.p_type != PT_INTERP)
      continue;
    ssize_t got =
        pread(fd, loader, header.p_filesz < PATH_MAX ? header.p_filesz : PATH_MAX - 1, (off_t)header.p_offset);
    loader[got > 0 ? got : 0] = 0;
    return got > 0;
  }
  return true;
}

static enum hwi_obstacle judge_malloc(int fd, const struct hwi_program *program)
{
  char path[HWI_OS_LINK_PATH_BYTES];
  hwi_os_fd_path(path, fd);
  if (program->is_static)
    return hwi_has_linked_recorder(path) ? HWI_OBSTACLE_NONE : HWI_OBSTACLE_STATIC;
  return hwi_has_sanitizer(path) ? HWI_OBSTACLE_SANITIZER : HWI_OBSTACLE_NONE;
}

static enum hwi_obstacle judge_elf(struct hwi_program *program, int fd, const char *path, const uint8_t *head)
{
  ElfW(Ehdr) elf;
  char loader[PATH_MAX];
  memcpy(&elf, head, sizeof elf);
  if (hwi_os_gains_privileges(fd))
    return HWI_OBSTACLE_PRIVILEGED;
  if (!hwi_os_page_size_is_usual())
    return HWI_OBSTACLE_PAGES;
  const uint8_t own_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32, class = elf.e_ident[EI_CLASS];
  if (class != own_class && class == ELFCLASS32)
    return HWI_OBSTACLE_32_BIT;
  if (class != own_class || elf.e_machine != HWI_ARCH_ELF_MACHINE)
    return HWI_OBSTACLE_MACHINE;
  if (!read_loader(fd, &elf, loader))
    return HWI_OBSTACLE_NONE; /* execve will refuse it */
  program->is_on_musl = hwi_is_musls_loader(hwi_base_name(*loader ? loader : path));
  if (!*loader && hwi_is_loader(hwi_base_name(path)))
    return HWI_OBSTACLE_NONE; /* it has no loader itself, but runs a program with LD_PRELOAD */
  program->is_static = !*loader;
  return judge_malloc(fd, program);
}

/* Reads the file's beginning, ended by 0, and judges it if it is an ELF file. Returns false if it is not, or cannot be
 * read. */
static bool judge_file(struct hwi_program *program, const char *path, char head[HEAD_BYTES + 1])
{
  head[0] = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  ssize_t got = pread(fd, head, HEAD_BYTES, 0);
  head[got > 0 ? got : 0] = 0;
  bool is_elf = got >= (ssize_t)sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0;
  if (is_elf)
    program->obstacle = judge_elf(program, fd, path, (const uint8_t *)head);
  close(fd);
  return is_elf;
}

enum hwi_obstacle hwi_program_obstacle(const char *path)
{
  char head[HEAD_BYTES + 1];
  struct hwi_program program = {0};
  judge_file(&program, path, head);
  return program.obstacle;
}

/* Returns the interpreter that the first line names, or NULL. The result points into `head`. */
static const char *interpreter(char *head)
{
  if (strncmp(head, "#!", 2) != 0)
    return NULL;
  char *at = head + 2 + strspn(head + 2, " \t");
  at[strcspn(at, " \t\n")] = 0;
  return *at ? at : NULL;
}

static struct hwi_program_allocator allocator_of(const char *path)
{
  char *full = realpath(path, NULL);
  const struct hwi_program_allocator allocator = full ? hwi_program_allocator(full) : (struct hwi_program_allocator){0};
  free(full);
  return allocator;
}

static void judge(struct hwi_program *program)
{
  const char *path = program->path;
  char head[HEAD_BYTES + 1];
  char script[PATH_MAX];
  for (int i = 0; i < SCRIPTS_MAX; i++) {
    bool is_elf = judge_file(program, path, head); /* executable but not readable: it may work */
    if (is_elf && program->obstacle == HWI_OBSTACLE_NONE &&
        !hwi_is_loader(hwi_base_name(path))) /* musl's is libc, and has malloc */
      program->allocator = allocator_of(path);
    const char *next = is_elf ? NULL : interpreter(head);
    if (!next || strlen(next) >= sizeof script)
      return;
    memcpy(script, next, strlen(next) + 1);
    path = script;
  }
}

void hwi_program_find(struct hwi_program *program, const char *command)
{
  *program = (struct hwi_program){0};
  if (!*command) {
    program->os_error = ENOENT;
  } else if (strchr(command, '/')) {
    program->path = strdup(command);
    program->os_error = program->path ? check(command) : ENOMEM;
  } else {
    search(program, command);
  }
  if (program->os_error == 0)
    judge(program);
}

void hwi_program_release(struct hwi_program *program)
{
  free(program->path);
  *program = (struct hwi_program){0};
}

const char *hwi_obstacle_text(enum hwi_obstacle obstacle)
{
  switch (obstacle) {
  case HWI_OBSTACLE_NONE:
    return "can be recorded";
  case HWI_OBSTACLE_STATIC:
    return "is statically linked, so that nothing can be preloaded into it, and has no recorder linked in";
  case HWI_OBSTACLE_32_BIT:
    return "is a 32-bit program, and the library to preload is a 64-bit one";
  case HWI_OBSTACLE_MACHINE:
    return "is made for another CPU than the library to preload";
  case HWI_OBSTACLE_SANITIZER:
    return "is built with a sanitizer, whose runtime has a malloc of its own";
  case HWI_OBSTACLE_PAGES:
    return "is run by a kernel whose pages are larger than 4 KiB";
  case HWI_OBSTACLE_PRIVILEGED:
    return "gains privileges (setuid, setgid or capabilities), and the loader then ignores LD_PRELOAD";
  }
  return "cannot be recorded";
}
