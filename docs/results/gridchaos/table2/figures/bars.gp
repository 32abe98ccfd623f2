$b0 << END
0 55 35 75 0x0072B2
1 55 35 75 0xD55E00
2 50.005 25.019875 70.13962499999933 0xE69F00
3 23.35960312 5.711172175 42.57984818087499 0x009E73
END
$p0 << END
0 0
1 19.84
2 39.96
3 20.14
END
$b1 << END
0 65 45 85 0x0072B2
1 59.84596237000001 39.84596237 79.856676655 0xD55E00
2 72.3534091 52.48239286612501 89.961672086125 0xE69F00
3 31.684527134999996 13.557240876000003 51.20770171975 0x009E73
END
$p1 << END
0 0
1 20.69
2 20.07
3 0
END
$b2 << END
0 44.93 24.76 65.30299999999944 0x0072B2
1 59.45 39.43625000000003 79.45 0xD55E00
2 43.1875 23.2875 63.49249999999997 0xE69F00
3 20.162193639999998 6.34500395625 37.12885595812499 0x009E73
END
$p2 << END
0 0
1 40
2 60
3 39.99
END
$b3 << END
0 44.54198718 24.083974360000003 65 0x0072B2
1 38.95 19.05 60.1 0xD55E00
2 45.010000000000005 24.97 65.01 0xE69F00
3 30.896759905 13.579148163000006 50.88084032387498 0x009E73
END
$p3 << END
0 20
1 39.98
2 20
3 20
END
reset
set terminal svg size 900,574 dynamic noenhanced font "Helvetica,13" background "white" name "bars"
set output "bars.svg"
set multiplot
set size 0.5000,0.4704
set origin 0.0000,0.5296
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "f" offset 0,-0.5
set xrange [-0.6:3.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "OVDE(m)" 2, "DOAC" 3) nomirror
set ylabel "score"
plot $b0 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b0 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p0 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.5000,0.4704
set origin 0.5000,0.5296
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "g" offset 0,-0.5
set xrange [-0.6:3.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "OVDE(m)" 2, "DOAC" 3) nomirror
set ylabel "score"
plot $b1 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b1 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p1 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.5000,0.4704
set origin 0.0000,0.0592
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "h" offset 0,-0.5
set xrange [-0.6:3.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "OVDE(m)" 2, "DOAC" 3) nomirror
set ylabel "score"
plot $b2 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b2 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p2 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.5000,0.4704
set origin 0.5000,0.0592
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "i" offset 0,-0.5
set xrange [-0.6:3.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "OVDE(m)" 2, "DOAC" 3) nomirror
set ylabel "score"
plot $b3 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b3 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p3 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 1,0.0592
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
plot -1 notitle, keyentry with lines linewidth 8 linecolor rgb "#0072B2" title "DSAC", keyentry with lines linewidth 8 linecolor rgb "#D55E00" title "OVDE", keyentry with lines linewidth 8 linecolor rgb "#E69F00" title "OVDE(m)", keyentry with lines linewidth 8 linecolor rgb "#009E73" title "DOAC", keyentry with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" title "the paper"
unset multiplot

unset output
reset
set terminal pngcairo size 1800,1148 noenhanced font "Helvetica,20" linewidth 1.6 pointscale 1.6 background "white"
set output "bars.png"
set multiplot
set size 0.5000,0.4704
set origin 0.0000,0.5296
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "f" offset 0,-0.5
set xrange [-0.6:3.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "OVDE(m)" 2, "DOAC" 3) nomirror
set ylabel "score"
plot $b0 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b0 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p0 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.5000,0.4704
set origin 0.5000,0.5296
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "g" offset 0,-0.5
set xrange [-0.6:3.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "OVDE(m)" 2, "DOAC" 3) nomirror
set ylabel "score"
plot $b1 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b1 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p1 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.5000,0.4704
set origin 0.0000,0.0592
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "h" offset 0,-0.5
set xrange [-0.6:3.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "OVDE(m)" 2, "DOAC" 3) nomirror
set ylabel "score"
plot $b2 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b2 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p2 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 0.5000,0.4704
set origin 0.5000,0.0592
set border 3 linecolor rgb "#666666" linewidth 1
set tics nomirror scale 0.5 textcolor rgb "#333333"
set grid ytics linetype 1 linecolor rgb "#E4E4E4" linewidth 0.8
set lmargin 9
set rmargin 2
set tmargin 2
set bmargin 3.6
unset key
set title "i" offset 0,-0.5
set xrange [-0.6:3.6]
set yrange [*<0:0<*]
set xtics ("DSAC" 0, "OVDE" 1, "OVDE(m)" 2, "DOAC" 3) nomirror
set ylabel "score"
plot $b3 using 1:2:(0.62):5 with boxes fillcolor rgb variable fillstyle solid 0.75 noborder notitle, \
     $b3 using 1:3:(0):($4-$3) with vectors heads size graph 0.02,90 linecolor rgb "#222222" linewidth 1.4 notitle, \
     $p3 using 1:2 with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" pointsize 1.1 notitle
set xtics autofreq norotate
set xrange [*:*]
set yrange [*:*]
unset logscale
set size 1,0.0592
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
plot -1 notitle, keyentry with lines linewidth 8 linecolor rgb "#0072B2" title "DSAC", keyentry with lines linewidth 8 linecolor rgb "#D55E00" title "OVDE", keyentry with lines linewidth 8 linecolor rgb "#E69F00" title "OVDE(m)", keyentry with lines linewidth 8 linecolor rgb "#009E73" title "DOAC", keyentry with points pointtype 12 linewidth 1.5 linecolor rgb "#777777" title "the paper"
unset multiplot

unset output
