"""What every package needs: errors, declared objects, results and documents, terminal."""
