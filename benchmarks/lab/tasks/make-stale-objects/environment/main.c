#include "greet.h"
#include "version.h"

#include <stdio.h>

int main(void)
{
    puts(VERSION);
    greet();
    return 0;
}
