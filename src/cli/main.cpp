#include <ovde/program.h>

int main(int argc, char** argv) { return ovde::run_program(argc, argv); }
