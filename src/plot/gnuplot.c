/* gnuplot.c - the head of a script for gnuplot, and what is made of the script */
#include "plot/gnuplot.h"

#include <string.h>

#include "plot/script.h"
#include "report/names/named_frames.h"

/* Writes the output "NAME.pdf" for NAME.gp, relative to gnuplot's working directory. */
static void write_output(FILE *script, const char *path)
{
  static const char suffix[] = ".gp";
  const char *name = path ? hwi_base_name(path) : "heapwright.gp";
  size_t bytes = strlen(name);
  if (bytes > sizeof suffix - 1 && strcmp(name + bytes - (sizeof suffix - 1), suffix) == 0)
    bytes -= sizeof suffix - 1;
  struct hwi_line output = {0};
  hwi_line_add(&output, name, bytes);
  hwi_line_puts(&output, ".pdf");
  fputs("set output ", script);
  hwi_script_line(script, &output);
  fputs("\n", script);
  hwi_line_release(&output);
}

void hwi_gnuplot_begin(const struct hwi_canvas *canvas, FILE *script)
{
  const double svg_a_cm = 47, png_a_cm = 94; /* points; the texts and points of a PDF are scaled accordingly */
  fputs("# Charts of a heap by heapwright. To draw them: gnuplot -d FILE\n"
        "# The data are before each chart, in bytes and nanoseconds, as in `heapwright report --json`.\n\n"
        "set encoding utf8\nset micro\n",
        script);
  switch (canvas->form) {
  case HWI_PLOT_SCRIPT:
  case HWI_PLOT_PDF: /* with 0.75, font sizes are in points */
    fprintf(script, "set terminal pdfcairo noenhanced color font 'DejaVu Sans,9' fontscale 0.75 size %.2fcm, %.2fcm\n",
            canvas->width_cm, canvas->height_cm);
    break;
  case HWI_PLOT_SVG:
    fprintf(script,
            "set terminal svg noenhanced font 'DejaVu Sans,9' fontscale 1.45 size %.0f, %.0f background '#ffffff'\n",
            canvas->width_cm * svg_a_cm, canvas->height_cm * svg_a_cm);
    break;
  case HWI_PLOT_PNG:
    fprintf(
        script,
        "set terminal pngcairo noenhanced font 'DejaVu Sans,9' fontscale 2.2 pointscale 2.2 linewidth 2 dashlength 2 size %.0f, %.0f background "
        "'#ffffff'\n",
        canvas->width_cm * png_a_cm, canvas->height_cm * png_a_cm);
    break;
  }
  if (canvas->form == HWI_PLOT_SCRIPT)
    write_output(script, canvas->script_path);
}

int hwi_gnuplot_draw(enum hwi_plot_form form, const char *script, size_t bytes, FILE *out, struct hwi_error *error)
{
  if (!hwi_script_is_whole(script, bytes))
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the charts");
  if (form != HWI_PLOT_SCRIPT)
    return hwi_gnuplot_run(script, bytes, out, error);
  fwrite(script, 1, bytes, out);
  return HW_OK;
}
