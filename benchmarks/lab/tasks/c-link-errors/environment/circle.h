double area(double radius);
double circumference(double radius);
