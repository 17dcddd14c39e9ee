"""Device and file edges: microphones, speakers, sound files, recordings."""
