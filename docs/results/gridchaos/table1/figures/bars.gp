$b0 << END
0 69.62393938 49.264462101624986 89.61727271 0x0072B2
1 69.98666666 49.986666660000004 89.97999998999998 0xD55E00
2 24.67285192 5 44.48464237062499 0x009E73
END
$p0 << END
0 0
1 59.3
2 3.02
END
$b1 << END
0 65 45 85 0x0072B2
1 47 26 70 0xD55E00
2 38.214999999999996 18.740000000000002 58.49499999999997 0x009E73
END
$p1 << END
0 18.94
1 58.99
2 38.42
END
$b2 << END
0 60 35 80 0x0072B2
1 65 40 85 0xD55E00
2 36.857838830000006 17.40783883 57.08389285924986 0x009E73
END
$p2 << END
0 39.78
1 79.52
2 18.71
END
$b3 << END
0 55.089999999999996 35 75.09 0x0072B2
1 64.86149038 44.792906241 84.85374999999999 0xD55E00
2 29.94179071 12.338380484375003 49.893533041124975 0x009E73
END
$p3 << END
0 0.05
1 39.64
2 20.59
END
$b4 << END
0 44.45 24.45 64.8 0x0072B2
1 40 20 60 0xD55E00
2 35.381318685 16.925000003000005 54.667857147625 0x009E73
END
$p4 << END
0 20
1 40.46
2 39.99
END
$b5 << END
0 49.15 25 70.02249999999988 0x0072B2
1 40 20 60 0xD55E00
2 39.05 19.997500000000006 58.8 0x009E73
END
$p5 << END
0 0
1 20.2
2 14.6
END
reset
set terminal svg size 900,494 dynamic noenhanced font "Helvetica,13" background "white" name "bars"
set output "bars.svg"
set multiplot
set size 0.3333,0.4656
set origin 0.0000,0.5344
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "s" offset 0,-0.5
set xrange [-0.6:2.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "DOAC" 2) nomirror
set ylabel "score"
plot $b0 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b0 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p0 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.3333,0.4656
set origin 0.3333,0.5344
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "a" offset 0,-0.5
set xrange [-0.6:2.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "DOAC" 2) nomirror
set ylabel "score"
plot $b1 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b1 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p1 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.3333,0.4656
set origin 0.6667,0.5344
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "b" offset 0,-0.5
set xrange [-0.6:2.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "DOAC" 2) nomirror
set ylabel "score"
plot $b2 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b2 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p2 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.3333,0.4656
set origin 0.0000,0.0688
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "c" offset 0,-0.5
set xrange [-0.6:2.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "DOAC" 2) nomirror
set ylabel "score"
plot $b3 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b3 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p3 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.3333,0.4656
set origin 0.3333,0.0688
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "d" offset 0,-0.5
set xrange [-0.6:2.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "DOAC" 2) nomirror
set ylabel "score"
plot $b4 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b4 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p4 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.3333,0.4656
set origin 0.6667,0.0688
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "e" offset 0,-0.5
set xrange [-0.6:2.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "DOAC" 2) nomirror
set ylabel "score"
plot $b5 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b5 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p5 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 1,0.0688
set origin 0,0
unset border
unset tics
unset xlabel
unset ylabel
unset title
unset arrow
set lmargin 0
set rmargin 0
set tmargin 0
set bmargin 0
set key center center horizontal Left reverse maxrows 1 samplen 2.5 width 1
set xrange [0:1]
set yrange [0:1]
plot -1 notitle, keyentry with lines linewidth 8 linecolor rgb "#0072B2" title "DSAC", keyentry with lines linewidth 8 linecolor rgb "#D55E00" title "OVDE", keyentry with lines linewidth 8 linecolor rgb "#009E73" title "DOAC", keyentry with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" title "the paper"
unset multiplot

unset output
reset
set terminal pngcairo size 1800,988 noenhanced font "Helvetica,20" linewidth 1.6 pointscale 1.6 background "white"
set output "bars.png"
set multiplot
set size 0.3333,0.4656
set origin 0.0000,0.5344
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "s" offset 0,-0.5
set xrange [-0.6:2.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "DOAC" 2) nomirror
set ylabel "score"
plot $b0 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b0 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p0 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.3333,0.4656
set origin 0.3333,0.5344
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "a" offset 0,-0.5
set xrange [-0.6:2.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "DOAC" 2) nomirror
set ylabel "score"
plot $b1 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b1 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p1 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.3333,0.4656
set origin 0.6667,0.5344
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "b" offset 0,-0.5
set xrange [-0.6:2.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "DOAC" 2) nomirror
set ylabel "score"
plot $b2 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b2 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p2 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.3333,0.4656
set origin 0.0000,0.0688
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "c" offset 0,-0.5
set xrange [-0.6:2.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "DOAC" 2) nomirror
set ylabel "score"
plot $b3 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b3 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p3 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.3333,0.4656
set origin 0.3333,0.0688
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "d" offset 0,-0.5
set xrange [-0.6:2.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "DOAC" 2) nomirror
set ylabel "score"
plot $b4 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b4 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p4 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.3333,0.4656
set origin 0.6667,0.0688
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "e" offset 0,-0.5
set xrange [-0.6:2.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "DOAC" 2) nomirror
set ylabel "score"
plot $b5 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b5 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p5 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 1,0.0688
set origin 0,0
unset border
unset tics
unset xlabel
unset ylabel
unset title
unset arrow
set lmargin 0
set rmargin 0
set tmargin 0
set bmargin 0
set key center center horizontal Left reverse maxrows 1 samplen 2.5 width 1
set xrange [0:1]
set yrange [0:1]
plot -1 notitle, keyentry with lines linewidth 8 linecolor rgb "#0072B2" title "DSAC", keyentry with lines linewidth 8 linecolor rgb "#D55E00" title "OVDE", keyentry with lines linewidth 8 linecolor rgb "#009E73" title "DOAC", keyentry with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" title "the paper"
unset multiplot

unset output
