"""inputs.py - makes the input files for the programs of programs.txt: always the same ones"""

import csv
import json
import math
import random
import struct
import wave

WORDS = """lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna
aliqua enim ad minim veniam quis nostrud exercitation ullamco laboris nisi aliquip ex ea commodo consequat duis aute irure
in reprehenderit voluptate velit esse cillum eu fugiat nulla pariatur excepteur sint occaecat cupidatat non proident""".split()
KINDS = ("alpha", "beta", "gamma")

SOURCES = {
    "hello.c": r"""#include <stdio.h>
#include <stdlib.h>

struct node { struct node *next; long value; char name[16]; };

long leaf(long n) { return n * 3 + 1; }

int main(int argc, char **argv)
{
  struct node *list = NULL;
  long n = argc > 1 ? atol(argv[1]) : 7;
  for (long i = 0; i < n; i++) {
    struct node *node = calloc(1, sizeof *node);
    node->next = list;
    node->value = leaf(i);
    snprintf(node->name, sizeof node->name, "node %ld", i);
    list = node;
  }
  for (struct node *node = list; node; node = node->next)
    printf("%s: %ld\n", node->name, node->value);
  while (list) {
    struct node *next = list->next;
    free(list);
    list = next;
  }
  return 0;
}
""",
    "openmp.c": r"""#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  long sum = 0, seen = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 16)
  for (long i = 0; i < 20000; i++) {
    long *block = malloc(sizeof *block * (size_t)(i % 50 + 1));
    block[i % 50] = i;
    sum += block[i % 50];
    free(block);
  }
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 100; i++) {
#pragma omp task
    {
      free(calloc(100, 1));
#pragma omp atomic
      seen++;
    }
  }
  printf("%ld %ld %d\n", sum, seen, omp_get_max_threads());
  return 0;
}
""",
    "mpi.c": r"""#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  int rank, size, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  enum { NUMBERS = 100000 };
  int *mine = malloc(NUMBERS * sizeof *mine), *all = malloc(NUMBERS * sizeof *all);
  for (int i = 0; i < NUMBERS; i++)
    mine[i] = i % (rank + 2);
  MPI_Allreduce(mine, all, NUMBERS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d ranks, sum %d, last %d\n", size, sum, all[NUMBERS - 1]);
  free(mine);
  free(all);
  MPI_Finalize();
  return 0;
}
""",
    "hello.cc": r"""#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct shape { virtual ~shape() = default; virtual double area() const = 0; };
struct square : shape { double side; explicit square(double s) : side(s) {} double area() const override { return side * side; } };

int main()
{
  std::map<std::string, std::vector<int>> table;
  for (int i = 0; i < 1000; ++i)
    table["key number " + std::to_string(i % 37)].push_back(i);
  std::vector<std::unique_ptr<shape>> shapes;
  for (int i = 0; i < 100; ++i)
    shapes.push_back(std::make_unique<square>(i));
  double sum = 0;
  for (const auto &one : shapes)
    sum += one->area();
  std::vector<std::thread> threads;
  std::vector<std::string> said(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&said, i] { std::ostringstream out; out << "thread " << i; said[i] = out.str(); });
  for (auto &thread : threads)
    thread.join();
  try {
    said.at(99);
  } catch (const std::out_of_range &) {
    std::cout << "caught\n";
  }
  std::cout << table.size() << " " << sum << " " << said[3] << "\n";
}
""",
    "hello.s": """.globl twice
.text
twice:
  lea (%rdi,%rdi), %rax
  ret
.data
word: .quad twice
""",
    "hello.rs": """use std::collections::HashMap;
fn main() {
    let mut m: HashMap<String, Vec<u32>> = HashMap::new();
    for i in 0..1000u32 { m.entry(format!("k{}", i % 10)).or_default().push(i); }
    let t = std::thread::spawn(move || m.values().map(|v| v.len()).sum::<usize>());
    println!("{}", t.join().unwrap());
}
""",
    "hello.go": """package main

import "fmt"

func main() {
	c := make(chan int)
	for i := 0; i < 4; i++ {
		go func(i int) { c <- i * i }(i)
	}
	sum := 0
	for i := 0; i < 4; i++ {
		sum += <-c
	}
	fmt.Println(sum)
}
""",
    "Words.java": """import java.nio.file.*;
import java.util.*;
import java.util.stream.*;

public class Words {
  public static void main(String[] args) throws Exception {
    Map<String, Long> n = Files.lines(Path.of(args[0])).flatMap(l -> Arrays.stream(l.split(" ")))
        .collect(Collectors.groupingBy(w -> w, TreeMap::new, Collectors.counting()));
    n.forEach((w, c) -> System.out.println(w + " " + c));
  }
}
""",
    "calc.l": """%{
#include <stdlib.h>
#include "calc.tab.h"
%}
%option noyywrap noinput nounput
%%
[0-9]+ { yylval = atoi(yytext); return NUMBER; }
[ \\t] ;
.|\\n return yytext[0];
""",
    "calc.y": """%{
#include <stdio.h>
int yylex(void);
void yyerror(const char *what) { fprintf(stderr, "%s\\n", what); }
%}
%token NUMBER
%left '+' '-'
%left '*' '/'
%%
lines: | lines sum '\\n' { printf("%d\\n", $2); } ;
sum: NUMBER | sum '+' sum { $$ = $1 + $3; } | sum '*' sum { $$ = $1 * $3; } | '(' sum ')' { $$ = $2; } ;
%%
int main(void) { return yyparse(); }
""",
    "style.xsl": """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text"/>
<xsl:template match="/"><xsl:for-each select="//row"><xsl:sort select="@kind"/><xsl:sort select="@id" data-type="number"/>
<xsl:value-of select="concat(@kind, ' ', @id, ': ', normalize-space(.), '&#10;')"/></xsl:for-each></xsl:template>
</xsl:stylesheet>
""",
    "page.html": """<!DOCTYPE html><html><head><title>A page</title></head><body><h1>Title</h1><p id="p">Some <b>bold</b> text.</p>
<table><tr><td>1</td><td>2</td></tr></table>
<script>document.getElementById("p").textContent = Array.from({length: 50}, (_, i) => i * i).join(" ");</script>
</body></html>
""",
}


def make_rows():
    rng = random.Random(7)
    return [{"id": i, "kind": rng.choice(KINDS), "name": " ".join(rng.choices(WORDS, k=3)), "value": round(rng.random(), 6)}
            for i in range(1, 2001)]


def make_text(folder):
    rng = random.Random(5)
    lines = [" ".join(rng.choices(WORDS, k=rng.randint(3, 14))) for _ in range(2000)]
    (folder / "text.txt").write_text("\n".join(lines) + "\n")


def make_tables(folder):
    rows = make_rows()
    (folder / "data.json").write_text(json.dumps(rows))
    with open(folder / "data.csv", "w", newline="") as out:
        table = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    xml = "\n".join('<row id="{id}" kind="{kind}" value="{value}">{name}</row>'.format(**row) for row in rows)
    (folder / "data.xml").write_text(f'<?xml version="1.0"?>\n<rows>\n{xml}\n</rows>\n')


def make_media(folder):
    side = 160
    pixels = bytes(value for y in range(side) for x in range(side) for value in (x, y, (x * y) % 256))
    (folder / "image.ppm").write_bytes(b"P6 %d %d 255\n" % (side, side) + pixels)
    with wave.open(str(folder / "tone.wav"), "wb") as tone:
        tone.setnchannels(1)
        tone.setsampwidth(2)
        tone.setframerate(16000)
        tone.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(i * 0.1))) for i in range(16000)))


def make_all(folder):
    """Fills the existing folder."""
    make_text(folder)
    make_tables(folder)
    make_media(folder)
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
